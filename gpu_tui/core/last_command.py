"""What the exit code of a line of commands is: that of the last one. `python train.py 2>&1 | tee log` ends with 0
however the training does, and so does `python train.py; echo done`. Pure; a command is a stranger's text.
"""

from __future__ import annotations

import re

from gpu_tui.core.sweep import CellState

# What people put behind a training and what ends well whatever that does, a shell to stay in among it; of other
# programs nothing is said.
_BEHIND = re.compile(
    r"(?:\|&?|\|\||;)\s*(?:exec\s+)?(?:"
    r"(tee|ts|sed|awk|tr|cat|col|less|head|tail|true|:|echo|printf|read|date|sleep|sync|touch)(?:\s[^|;]*)?"
    r"|(bash|sh|zsh|fish|\$SHELL)(?:\s+-[il]+)*\s*);?[\s'\"]*"
)


def stands_behind(command: str) -> str | None:
    """The program whose exit code is told in place of what stands before it."""
    if "pipefail" in command or re.search(r"\bset -\w*e", command):
        return None
    begin = max(command.rfind("|"), command.rstrip("; '\"").rfind(";"))
    if command[begin - 1 : begin + 1] == "||":
        begin -= 1
    match = _BEHIND.fullmatch(command, begin) if begin >= 0 else None
    return None if match is None else match[1] or match[2]


def told_by(command: str, state: CellState) -> tuple[CellState, str | None]:
    """The state of what ended in `state` by its exit code, and why it is another one."""
    what = stands_behind(command) if state is CellState.FINISHED else None
    if what is None:
        return state, None
    return CellState.CANNOT_TELL, f"exit 0 is what {what} ended with, behind its program"
