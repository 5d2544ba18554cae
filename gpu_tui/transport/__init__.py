"""Bytes to and from one box. The only room that knows asyncssh."""

import sys
from importlib.util import find_spec

# Of X.509 asyncssh first loads all of cryptography's, 0.7 MB and 10 ms, then finds that it lacks pyOpenSSL, and goes
# without. Where that is missing anyway it is told so at once, in Python's own words for a module that is not there.
if find_spec("OpenSSL") is None:
    sys.modules.setdefault("asyncssh.crypto.x509", None)  # type: ignore[arg-type]
