"""Which platform a box may be of, where nobody named one: signs that the profiles know, looked for seldom.

A row for the catalogue in `probes`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gpu_tui.collect.probe import NOTHING, NoValue, Probe, Sections, Target
from gpu_tui.collect.shell import terse
from gpu_tui.core import metrics
from gpu_tui.core.profile import Sign
from gpu_tui.core.sample import FailureKind
from gpu_tui.parse.nvidia_smi import TIMED_OUT

EVERY = 3_600.0  # a box stays what it is
LIMIT = 4.0
# A login over SSH may lack the container's environment: its first process has it, and some images keep it in
# files. Only names leave the box. Of files only whether they are there: one may be below a mount that died.
_LOOK = r"""
{ env; tr '\000' '\n' <"$1/1/environ"; cat /etc/environment /etc/rp_environment; } 2>/dev/null |
    sed -n @NAMES@ | sort -u
for at in @FILES@; do
    [ ! -e "$at" ] || echo "file $at"
done
"""


def _snippet(target: Target) -> str:
    signs = target.instance.signs
    if not signs:
        return ""
    names = ";".join(f"s/^\\(export  *\\)*{name}=..*/env {name}/p" for name in _of("env", signs))
    look = terse(_LOOK)
    look = look.replace("@NAMES@", shlex.quote(names))
    look = look.replace("@FILES@", shlex.join(_of("file", signs)))
    return f'\n    ask signs {LIMIT:.0f} sh -c {shlex.quote(look)} sh "$proc"\n'


def _of(kind: str, signs: Sequence[Sign]) -> list[str]:
    return [sign.name for sign in signs if sign.kind == kind]


def _signs(target: Target, sections: Sections) -> object:
    section = sections.get("signs", NOTHING)
    if section.exit in TIMED_OUT:
        return NoValue("looking for signs of a platform does not return", FailureKind.HUNG)
    said = set(section.body.decode("utf-8", "replace").splitlines())
    return tuple(
        sign for sign in target.instance.signs if f"{sign.kind} {sign.name}" in said
    ) or NoValue("no sign of a platform")


PROBE = Probe(metrics.SIGNS.name, "runners", EVERY, LIMIT, _snippet, _signs)
