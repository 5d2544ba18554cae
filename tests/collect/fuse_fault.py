"""A real FUSE mount that hangs or answers with an error: `python fuse_fault.py DIRECTORY FAULT`.

The kernel's protocol is in include/uapi/linux/fuse.h. FAULT: the name of an errno; `hung`, which reads requests and
answers none; `gone`, which has closed the device. The program prints `mounted` and runs until its stdin ends.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
import threading

INIT, HEADER = 26, struct.Struct("<IIQQIIIHH")


def serve(device: int, fault: str) -> None:
    """Answer INIT correctly, and every other request with the fault."""
    while True:
        try:
            request = os.read(device, 1 << 20)
        except OSError:  # unmounted
            return
        _, opcode, unique, *_ = HEADER.unpack_from(request)
        if opcode == INIT:
            body = struct.pack(
                "<IIIIHHIIHHI7I", 7, 31, 65536, 0, 12, 9, 65536, 1, 1, 0, 0, *[0] * 7
            )
            os.write(device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
        elif fault != "hung":
            os.write(device, struct.pack("<IiQ", 16, -getattr(errno, fault), unique))


def main(directory: str, fault: str) -> None:
    """Mount the filesystem, print `mounted`, and wait for the end of stdin."""
    device = os.open("/dev/fuse", os.O_RDWR)
    words = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"lab", directory.encode(), b"fuse.lab", 0, words.encode()):
        sys.exit(os.strerror(ctypes.get_errno()))
    if fault == "gone":
        os.close(device)
    else:
        threading.Thread(target=serve, args=(device, fault), daemon=True).start()
    print("mounted", flush=True)
    sys.stdin.read()
    libc.umount2(directory.encode(), 2)  # MNT_DETACH
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
