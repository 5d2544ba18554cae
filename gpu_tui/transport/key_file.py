"""Key files as they lie on the disk: what can be told of each without a passphrase, and with one."""

from __future__ import annotations

import base64
import binascii
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path

import asyncssh


@dataclass(frozen=True, slots=True)
class KeyFile:
    """One identity file. `pairs` is its usable private key, and `certificate` the one next to it.

    `public` is the public key as bytes, known also where the private one is encrypted or only in the
    agent (`outside`); `trouble` says why it cannot be used, in a word or two.
    """

    path: str
    pairs: tuple[asyncssh.SSHKeyPair, ...] = ()
    public: bytes | None = None
    trouble: str | None = None
    certificate: asyncssh.SSHCertificate | None = None

    @property
    def locked(self) -> bool:
        """A passphrase opens it."""
        return self.trouble == "encrypted"

    @property
    def outside(self) -> bool:
        """Only its public half lies here."""
        return self.public is not None and not self.pairs and self.trouble is None


def read_key_file(path: str, passphrase: str | None = None) -> KeyFile:
    """Read one file, whatever is in it."""
    public = _public(path)
    beside = read_certificate(f"{path}-cert.pub")
    if beside is not None and beside.key.public_data != public:
        beside = None
    if not os.path.exists(path):
        trouble = None if public else "gone"
        return KeyFile(path, public=public, trouble=trouble, certificate=beside)
    try:
        found = asyncssh.load_keypairs([path], passphrase)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
        if "assphrase" in str(error) or isinstance(error, asyncssh.KeyEncryptionError):
            return KeyFile(path, public=public, trouble="encrypted", certificate=beside)
        if public is not None:  # a public key as IdentityFile names a key of the agent
            return KeyFile(path, public=public, certificate=beside)
        return KeyFile(path, trouble="not a key that can be read")
    except (OSError, ValueError) as error:
        return KeyFile(path, public=public, trouble=str(error))
    pairs = tuple(pair for pair in found if not pair.has_cert)
    plain = next((pair.key_public_data for pair in pairs), public)
    return KeyFile(path, pairs, plain, certificate=beside)


def read_certificate(path: str) -> asyncssh.SSHCertificate | None:
    """The certificate of a file, if it is one."""
    try:
        return asyncssh.read_certificate(path)
    except (OSError, ValueError):
        return None


def _public(path: str) -> bytes | None:
    for name in (path, f"{path}.pub"):
        try:
            return asyncssh.read_public_key(name).public_data
        except (OSError, ValueError):
            continue
    return public_half(path)


_ARMOUR = re.compile(
    rb"-----BEGIN OPENSSH PRIVATE KEY-----(.*?)-----END OPENSSH PRIVATE KEY-----", re.DOTALL
)
_MAGIC = b"openssh-key-v1\0"


def public_half(path: str) -> bytes | None:
    """The public key that stands in clear in OpenSSH's private key file (PROTOCOL.key), if it is one."""
    try:
        found = _ARMOUR.search(Path(path).read_bytes())
        blob = base64.b64decode(found[1]) if found else b""
        if not blob.startswith(_MAGIC):
            return None
        at = len(_MAGIC)
        for _ in range(3):  # cipher, derivation, its options
            at += 4 + struct.unpack_from(">I", blob, at)[0]
        at += 4  # the number of keys
        size = struct.unpack_from(">I", blob, at)[0]
        return blob[at + 4 : at + 4 + size] or None
    except (OSError, ValueError, struct.error, binascii.Error):
        return None


def algorithm(public: bytes) -> bytes:
    """The name of a public key's algorithm."""
    size = struct.unpack_from(">I", public)[0]
    return public[4 : 4 + size]
