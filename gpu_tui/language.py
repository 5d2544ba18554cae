"""Which language the screen and the manual speak, and the catalogue of its words.

The flag stands before the settings, the settings before the locale. Data is never translated, and neither is
what programs read or a person must type.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpu_tui.core.speech import LANGUAGES, Catalogue, speak

ENGLISH, CHINESE = LANGUAGES
FILES = {CHINESE: Path(__file__).resolve().parent / "locale" / "zh_CN.yaml"}
LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")


class NoLanguage(Exception):
    """There are no words in this language."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no language {name!r}")
        self.next = f"Choose one of: {', '.join(LANGUAGES)}."


def choose(flag: str | None, configured: str | None, env: Mapping[str, str]) -> str:
    """A name of LANGUAGES: the flag's, else that of the settings, else the locale's. Raises NoLanguage.

    English where the terminal could only draw question marks.
    """
    locale = next((env[name] for name in LOCALE if env.get(name)), "")
    spoken = CHINESE if of_locale(locale) == CHINESE else ENGLISH
    wanted = _known(flag or configured or spoken)
    return wanted if wanted == ENGLISH or draws_chinese(env) else ENGLISH


def of_locale(name: str) -> str:
    """The language that the name of a locale (zh_CN.UTF-8, en-US) stands for; the name itself where none is."""
    tongue = name.partition(".")[0].lower().replace("-", "_")
    # Simplified: what a terminal of Taiwan or Hong Kong expects is another script, and is not here.
    if tongue in ("zh", "zh_cn", "zh_sg", "zh_hans", "zh_hans_cn"):
        return CHINESE
    return ENGLISH if tongue.partition("_")[0] == ENGLISH else name


def draws_chinese(env: Mapping[str, str]) -> bool:
    """Not in a locale that is not UTF-8, and not on the Linux console, whose font has no such signs."""
    named = env.get("LC_ALL") or env.get("LANG") or env.get("LC_CTYPE") or "C.UTF-8"
    return "utf" in named.lower() and env.get("TERM") != "linux"


def speak_in(name: str) -> None:
    """Say everything in this language from now on. Raises NoLanguage."""
    name = _known(name)
    speak(catalogue(name))


@cache
def catalogue(name: str) -> Catalogue:
    """All words of a language; none for English."""
    if name == ENGLISH:
        return Catalogue()
    import yaml  # only who does not read English pays for it

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    words = yaml.load(FILES[name].read_text("utf-8"), Loader=loader)
    return Catalogue(words["screen"], words["sentences"], words["names"], name)


def _known(name: str) -> str:
    if name not in LANGUAGES:
        raise NoLanguage(name)
    return name
