"""Desktop notifications by OSC 9 and OSC 777."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_tui.core.plain import plain
from gpu_tui.core.redact import redact

OSC9, OSC777 = "osc9", "osc777"
TEXT_WIDTH = 200  # characters of one notification
# Terminals that say who they are, and the form that each of them shows once. Elsewhere both are sent:
# one that knows neither ignores them, one that knows both shows two.
KNOWN_FORMS = {"iTerm.app": (OSC9,), "WezTerm": (OSC777,), "ghostty": (OSC777,)}
MUTE = frozenset({"linux", "dumb"})


def desktop_forms(wish: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """The forms to send for a wish of the user's settings (auto, osc9, osc777, both, off)."""
    if wish != "auto":
        return {"off": (), "both": (OSC9, OSC777)}.get(wish, (wish,))
    if env.get("TERM", "") in MUTE:
        return ()
    if not (env.get("TMUX") or env.get("STY")):
        known = KNOWN_FORMS.get(env.get("TERM_PROGRAM", ""))
        if known is not None:
            return known
        if env.get("TERM", "").startswith(("foot", "rxvt")) or "VTE_VERSION" in env:
            return (OSC777,)
        if env.get("TERM") == "xterm-kitty":
            return (OSC9,)
    return (OSC9, OSC777)


def desktop_bytes(text: str, forms: tuple[str, ...], env: Mapping[str, str]) -> str:
    """The sequences that show `text`, freed of secrets: a desktop shows it over other windows, and keeps it.

    Nothing in it can end a sequence or begin another.
    Inside tmux they pass only where the user has `set -g allow-passthrough on`.
    """
    shown = plain(redact(text), TEXT_WIDTH).replace(";", ",")
    made = {
        OSC9: f"\x1b]9;gpu-tui: {shown}\x07",
        OSC777: f"\x1b]777;notify;gpu-tui;{shown}\x07",
    }
    return "".join(_through(made[form], env) for form in forms)


def _through(sequence: str, env: Mapping[str, str]) -> str:
    """Wrapped so that tmux or screen hands it to the terminal outside."""
    if env.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if env.get("STY"):
        return "\x1bP" + sequence + "\x1b\\"
    return sequence
