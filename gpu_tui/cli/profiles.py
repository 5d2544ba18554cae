"""`gpu-tui profiles`: what is known of each platform, and which facts are too old to be believed."""

from __future__ import annotations

import argparse
import json
import time
from datetime import UTC, date, datetime
from pathlib import Path

from gpu_tui.core.profile import Profile, fact_is_stale
from gpu_tui.parse.profile_md import ProfileError, proofs
from gpu_tui.parse.yaml_strict import did_you_mean
from gpu_tui.resources import profile_files, profiles_dir, read_profile

NAME = "profiles"
HELP = "the facts of each platform, and which of them need a fresh look"
EXAMPLE = "gpu-tui profiles show autodl"

Row = dict[str, object]


class NoSuchProfile(Exception):
    """There is no profile of this name."""

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
    parser.add_argument("--dir", type=Path, metavar="DIR", help="profiles of yours to look at")


def run(args: argparse.Namespace) -> int:
    """Exit 1 where a profile that was looked at is invalid or holds a stale fact."""
    today = args.today or _today()
    files = profile_files(args.dir or profiles_dir())
    if args.name is not None or args.action == "show":
        if args.name not in files:
            raise _unknown(args.name, list(files))
        files = {args.name: files[args.name]}
    rows = [_row(name, file, today) for name, file in files.items()]
    if not rows:
        raise NoSuchProfile(f"no profiles in {args.dir}", "Name a directory with *.md files.")
    if args.json:
        shown = rows[0] if args.action == "show" else rows
        print(json.dumps(shown, ensure_ascii=False))
    elif args.action == "show":
        _show(files[args.name], rows[0])
    else:
        _list(rows)
    return 0 if all(row["status"] == "ok" for row in rows) else 1


def _row(name: str, file: Path, today: date) -> Row:
    try:
        profile = read_profile(file)
    except ProfileError as error:
        return {"profile": name, "status": "invalid", "detail": str(error), "next": error.next}
    stale = stale_facts(profile, today)
    detail = f"{len(proofs(profile))} facts, the oldest of {_oldest(profile)}"
    if stale:
        shown = ", ".join(f"{what} ({month})" for what, month in stale[:3])
        more = f" and {len(stale) - 3} more" if len(stale) > 3 else ""
        detail = f"older than six months: {shown}{more}"
    # The frontmatter has a `status` of its own, so it stands whole under one key as well.
    verdict = {"profile": name, "status": "stale" if stale else "ok", "detail": detail}
    return {**profile.facts, **verdict, "frontmatter": profile.facts}


def stale_facts(profile: Profile, today: date) -> list[tuple[str, str]]:
    """Facts that need a fresh look on `today`, as (place, month)."""
    return [(what, month) for what, month in proofs(profile) if fact_is_stale(month, today)]


def _oldest(profile: Profile) -> str:
    return min(month for _, month in proofs(profile))


def _list(rows: list[Row]) -> None:
    width = max(len(str(row["profile"])) for row in rows)
    for row in rows:
        print(f"{row['profile']:{width}}  {row['status']:7}  {row['detail']}")
        if row.get("next"):
            print(f"{'':{width}}  {'':7}  {row['next']}")


def _show(file: Path, row: Row) -> None:
    if row["status"] != "ok":
        print(f"{row['status']}: {row['detail']}\n")
    print(file.read_text(encoding="utf-8"), end="")


def _unknown(name: str | None, known: list[str]) -> NoSuchProfile:
    there = f"There are: {', '.join(known)}."
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
