"""OpenSSL, which Python loads for hashes and for TLS: 5 MB of memory and some of each start.

Who watches boxes over SSH needs none of it, for asyncssh brings its own: Python has small hashes too, and asyncio
goes without TLS where there is none. Where it is needed after all it is taken in.
"""

from __future__ import annotations

import sys
from importlib import reload
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

PARTS = ("_hashlib", "_ssl")
BUILT_IN = ("_md5", "_sha1", *(("_sha2",) if sys.version_info >= (3, 12) else ("_sha256", "_sha512")))  # fmt: skip


def leave_out() -> None:
    """Do without from now on, in Python's own words for a module that is not there.

    Only where nobody has loaded it, and where this Python was built with hashes of its own.
    """
    loaded = {"hashlib", "ssl", "asyncio"} & sys.modules.keys()
    if not loaded and all(find_spec(name) for name in BUILT_IN):
        sys.modules.update(dict.fromkeys(PARTS))  # type: ignore[arg-type]


def take_in() -> None:
    """Have it from now on: TLS, and hashes that are several times as fast."""
    left = [name for name in PARTS if sys.modules.get(name, sys) is None]
    for name in left:
        del sys.modules[name]
    if left and "hashlib" in sys.modules:
        reload(sys.modules["hashlib"])


def large_sha256() -> _Hash:
    """A hash for much data: OpenSSL's, which lets other threads go on meanwhile."""
    take_in()
    import hashlib

    return hashlib.sha256()
