"""A box's files over SFTP: its own tree only, and nothing can be changed.

Relative names start in the home, as after a login; absolute names are those that the box's shell says.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import asyncssh

from gpu_tui.demo.box import Box

WRITING = (
    asyncssh.FXF_WRITE
    | asyncssh.FXF_APPEND
    | asyncssh.FXF_CREAT
    | asyncssh.FXF_TRUNC
    | asyncssh.FXF_EXCL
)


class BoxFiles(asyncssh.SFTPServer):
    """Reads inside `box.home`; every other name and every change is refused."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], box: Box) -> None:
        super().__init__(channel)
        self._home = os.fsencode(os.path.realpath(box.home))

    def map_path(self, path: bytes) -> bytes:
        """The local path of a remote one; refuses what leads out of the home, links included."""
        wanted = os.path.normpath(os.path.join(self._home, path))
        if wanted == os.path.dirname(self._home):
            return self._home  # the tree's top is its own parent, as everywhere
        real = os.path.join(os.path.realpath(os.path.dirname(wanted)), os.path.basename(wanted))
        if wanted == self._home or Path(os.fsdecode(real)).is_relative_to(os.fsdecode(self._home)):
            return wanted
        raise asyncssh.SFTPNoSuchFile("No such file or directory")

    def reverse_map_path(self, path: bytes) -> bytes:
        """Local names are the box's names."""
        return path

    def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> object:
        """Open to read; following a link out of the home is refused."""
        if pflags & WRITING:
            self._refuse()
        local = os.path.realpath(self.map_path(path))
        if not Path(os.fsdecode(local)).is_relative_to(os.fsdecode(self._home)):
            raise asyncssh.SFTPNoSuchFile("No such file or directory")
        return super().open(local, pflags, attrs)

    def open56(
        self, path: bytes, desired_access: int, flags: int, attrs: asyncssh.SFTPAttrs
    ) -> object:
        """Version 5 and later are not offered."""
        self._refuse()

    def write(self, file_obj: object, offset: int, data: bytes) -> NoReturn:
        """Refused."""
        self._refuse()

    def setstat(self, path: bytes, attrs: asyncssh.SFTPAttrs, **_: object) -> NoReturn:
        """Refused."""
        self._refuse()

    lsetstat = setstat

    def fsetstat(self, file_obj: object, attrs: asyncssh.SFTPAttrs) -> NoReturn:
        """Refused."""
        self._refuse()

    def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> NoReturn:
        """Refused."""
        self._refuse()

    def remove(self, path: bytes) -> NoReturn:
        """Refused."""
        self._refuse()

    rmdir = remove

    def rename(self, oldpath: bytes, newpath: bytes, **_: object) -> NoReturn:
        """Refused."""
        self._refuse()

    posix_rename = symlink = link = rename

    def _refuse(self) -> NoReturn:
        raise asyncssh.SFTPPermissionDenied("The simulated boxes are read-only over SFTP")
