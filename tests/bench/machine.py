"""What a benchmark ran on, in one line each: a ratio without its machine says little."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("asyncssh", "cryptography", "textual")


def describe() -> dict[str, str]:
    """Name -> text: processor, memory, kernel, Python, libraries, OpenSSH."""
    return {
        "processor": f"{os.cpu_count()} x {_processor()}",
        "memory": f"{_memory_gib():.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "libraries": ", ".join(f"{name} {version(name)}" for name in LIBRARIES),
        "ssh": _openssh(),
        "load before": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _openssh() -> str:
    ssh = shutil.which("ssh")
    if ssh is None:
        return "none"
    done = subprocess.run([ssh, "-V"], capture_output=True, text=True, check=False)
    return done.stderr.strip()
