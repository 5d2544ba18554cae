"""`gpu-tui profiles`: what is known of each platform, and which facts are too old to be believed."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from gpu_tui.core.profile import Profile, Proof, fact_is_stale
from gpu_tui.parse.profile_md import ProfileError
from gpu_tui.parse.yaml_strict import did_you_mean
from gpu_tui.resources import (
    profile_files,
    profiles_dir,
    read_profile,
    themes_dir,
    user_profiles_dir,
)

EXAMPLE = "gpu-tui profiles show autodl --verb 关机"

SHOWN = 6  # lines per kind of remark before `--all` is needed

Row = dict[str, object]


class NoSuchProfile(Exception):
    """There is no profile, or no verb, of this name."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.text = text
        self.next = next


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.add_argument("action", nargs="?", choices=["list", "show", "check"], default="list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="which profile to show")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--today", type=_date, metavar="DATE", help="judge the facts' age as of YYYY-MM-DD"
    )
    parser.add_argument("--dir", type=Path, metavar="DIR", help="only the profiles in DIR")
    parser.add_argument("--verb", metavar="VERB", help="show: what survives this teardown verb")
    parser.add_argument("--source", action="store_true", help="show: the file as it is written")
    parser.add_argument("--all", action="store_true", help="check: every remark, not the first few")


def run(args: argparse.Namespace) -> int:
    """Exit 1 where a profile that was looked at is invalid or holds a stale fact."""
    today = args.today or _today()
    files = _files(args.dir)
    if args.name is not None or args.action == "show":
        if args.name not in {name for name, _ in files}:
            raise _unknown(args.name, [name for name, _ in files])
        files = [row for row in files if row[0] == args.name]
    if not files:
        raise NoSuchProfile(f"no profiles in {args.dir}", "Name a directory with *.md files.")
    looks = _looked(files, today)
    if args.json:
        rows = [look.row() for look in looks]
        print(json.dumps(rows[-1] if args.action == "show" else rows, ensure_ascii=False))
    elif args.action == "show":
        return _show(looks, args, today)
    else:
        _list(looks, full=args.action == "check", all_of_it=args.all)
    return 0 if all(look.status == "ok" for look in looks) else 1


class Look:
    """One file, and what is to be said of it."""

    def __init__(self, name: str, file: Path, today: date) -> None:
        self.name = name
        self.file = file
        self.profile: Profile | None = None
        self.error: ProfileError | None = None
        try:
            self.profile = read_profile(file)
            _check_months(self.profile, today)
        except ProfileError as error:
            self.error = error
        proofs = self.profile.proofs if self.profile else ()
        self.stale = [proof for proof in proofs if fact_is_stale(proof.verified, today)]
        self.unsure = [proof for proof in proofs if proof.confidence == "low"]

    @property
    def status(self) -> str:
        """ok, stale or invalid."""
        if self.error is not None:
            return "invalid"
        return "stale" if self.stale else "ok"

    @property
    def detail(self) -> str:
        """One line: the error, the stale facts, or how much there is."""
        if self.error is not None or self.profile is None:
            return str(self.error)
        proofs = self.profile.proofs
        oldest = min((proof.verified for proof in proofs), default="no month")
        unsure = f", {len(self.unsure)} unconfirmed" if self.unsure else ""
        if self.stale:
            names = [f"{proof.where} ({proof.verified})" for proof in self.stale[:3]]
            more = f" and {len(self.stale) - 3} more" if len(self.stale) > 3 else ""
            return f"older than six months: {', '.join(names)}{more}{unsure}"
        return f"{len(proofs)} facts, the oldest of {oldest}{unsure}"

    def row(self) -> Row:
        """As JSON: the frontmatter, and under the same names what was found."""
        facts: Mapping[str, object] = self.profile.facts if self.profile else {}
        verdict: Row = {
            "profile": self.name,
            "status": self.status,
            "detail": self.detail,
            "file": str(self.file),
        }
        if self.error is not None:
            return {**verdict, "line": self.error.line, "next": self.error.next}
        # The frontmatter has a `status` of its own, so it stands whole under one key as well.
        found = {
            "stale": [_proof_row(proof) for proof in self.stale],
            "unconfirmed": [_proof_row(proof) for proof in self.unsure],
        }
        return {**facts, **verdict, **found, "frontmatter": facts}


def _files(directory: Path | None) -> list[tuple[str, Path]]:
    """(id, file) of every profile: of one directory, else the user's own and the bundled ones.

    A broken file of the user's does not hide the bundled one that is used instead: both are looked at.
    """
    if directory is not None:
        return list(profile_files(directory).items())
    own, bundled = profile_files(user_profiles_dir(os.environ)), profile_files(profiles_dir())
    found: list[tuple[str, Path]] = []
    for name, file in sorted({**bundled, **own}.items()):
        if name in own and name in bundled and not _reads(file):
            found.append((name, bundled[name]))
        found.append((name, file))
    return found


def _reads(file: Path) -> bool:
    try:
        read_profile(file)
    except ProfileError:
        return False
    return True


def _looked(files: Iterable[tuple[str, Path]], today: date) -> list[Look]:
    """Each file by itself, and then no clock under two platforms."""
    looks = [Look(name, file, today) for name, file in files]
    owner: dict[str, str] = {}
    for look in looks:
        if look.error is None and look.profile is not None:
            look.error = _taken(look.profile, owner)
            owner.update({clock.id: look.name for clock in look.profile.clocks})
    return looks


def _taken(profile: Profile, owner: Mapping[str, str]) -> ProfileError | None:
    """An error at the first clock whose id is already another platform's."""
    for proof in profile.proofs:
        first = owner.get(proof.name, profile.id) if proof.part == "clocks" else profile.id
        if first != profile.id:
            text = f'the clock "{proof.name}" is already one of {first}'
            return ProfileError(text, profile.path, proof.line, next="Give it another id.")
    return None


def _check_months(profile: Profile, today: date) -> None:
    for proof in profile.proofs:
        if proof.verified > f"{today:%Y-%m}":
            raise ProfileError(
                f"{proof.where} was verified in {proof.verified}, which is still to come",
                profile.path,
                proof.line,
                next="Write the month in which somebody looked.",
            )


def _list(looks: list[Look], *, full: bool, all_of_it: bool) -> None:
    width = max(len(look.name) for look in looks)
    longest = max((len(look.detail) for look in looks if look.error is None), default=0)
    for look in looks:
        # An error begins with its file; in `check` every remark does.
        file = "" if full or look.error is not None else f"  {look.file}"
        print(f"{look.name:{width}}  {look.status:7}  {look.detail:{longest if file else 0}}{file}")
        if look.error is not None and look.error.next:
            print(f"{'':{width}}  {'':7}  {look.error.next}")
        if full:
            for word, proofs in (("stale", look.stale), ("unconfirmed", look.unsure)):
                _remarks(look, word, proofs if all_of_it else proofs[:SHOWN], len(proofs))


def _remarks(look: Look, word: str, proofs: list[Proof], total: int) -> None:
    for proof in proofs:
        print(f"  {look.file}:{proof.line}: {word}: {proof.where} ({proof.verified})")
    if total > len(proofs):
        print(f"  and {total - len(proofs)} more {word}; --all shows them")


def _show(looks: list[Look], args: argparse.Namespace, today: date) -> int:
    """The card of the profile that is in use; a file that cannot be used is told before it."""
    for look in looks:
        if look.status != "ok":
            hint = f"\n  {look.error.next}" if look.error and look.error.next else ""
            print(f"{look.status}: {look.detail}{hint}\n", file=sys.stderr)
    shown = next((look for look in reversed(looks) if look.profile is not None), None)
    if args.source:
        file = (shown or looks[-1]).file
        print(file.read_text(encoding="utf-8", errors="replace"), end="")
    elif shown is not None and shown.profile is not None:
        _print_card(shown.profile, args.verb, today)
    return 0 if all(look.status == "ok" for look in looks) else 1


def _print_card(profile: Profile, word: str | None, today: date) -> None:
    # Imported here: `list` and `check` must not pay for the screen.
    from gpu_tui.ui.printed import print_lines
    from gpu_tui.ui.text.card import card
    from gpu_tui.ui.text.survival import find_choice
    from gpu_tui.ui.theme_file import load_themes

    chosen = find_choice(profile, word) if word else 0
    if chosen is None:
        names = list(dict.fromkeys(row.verb for row in profile.teardown))
        hint = did_you_mean(word or "", names) or f"There are: {', '.join(names)}."
        raise NoSuchProfile(f"{profile.id} has no verb {word!r}", hint)
    width = min(shutil.get_terminal_size().columns, 120)
    theme = next(theme for theme in load_themes(themes_dir()) if theme.name == "night")
    print_lines(card(profile, width, chosen, today=today), theme)


def _proof_row(proof: Proof) -> Row:
    return {"fact": proof.where, "verified": proof.verified, "line": proof.line}


def _unknown(name: str | None, known: list[str]) -> NoSuchProfile:
    there = f"There are: {', '.join(dict.fromkeys(known))}."
    if name is None:
        return NoSuchProfile("show which profile?", there)
    return NoSuchProfile(f"there is no profile {name!r}", did_you_mean(name, known) or there)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text if len(text) > 7 else f"{text}-01")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date like 2026-11-21") from None


def _today() -> date:
    # The one reading of the calendar: a command's edge, overridden by --today.
    return datetime.fromtimestamp(time.clock_gettime(time.CLOCK_REALTIME), UTC).date()
