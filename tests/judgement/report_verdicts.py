"""Prints the verdict table: expected beside got. `cd tests && python -m judgement.report_verdicts`."""

from __future__ import annotations

import sys

from judgement.scene import Scene
from judgement.verdict_scenarios import SCENARIOS, Scenario


def got(
    row: Scenario, *, skew: float = 0.0, zone: float = 0.0, login_zone: float | None = None
) -> tuple[str, str, str]:
    """Verdict, cause and findings that came out, as text."""
    scene = Scene(row.box, skew=skew, zone=zone, login_zone=login_zone)
    row.story(scene)
    view = scene.view()
    findings = " ".join(sorted(f"{f.kind}:{f.severity}" for f in view.findings))
    return view.verdict.value, view.cause.value if view.cause else "–", findings or "–"


def expected(row: Scenario) -> tuple[str, str, str]:
    """The same as the table wants it."""
    return row.verdict, row.cause or "–", " ".join(row.findings) or "–"


def main() -> int:
    """The table, and 1 where any row differs."""
    wrong = 0
    widths = max(len(row.name) for row in SCENARIOS), 18, 10
    for row in SCENARIOS:
        want, have = expected(row), got(row)
        good = want == have
        wrong += not good
        cells = f"{row.name:{widths[0]}}  {have[0]:{widths[1]}} {have[1]:{widths[2]}} {have[2]}"
        print(("ok    " if good else "WRONG ") + cells)
        if not good:
            print(
                f"{'wanted':>{widths[0] + 6}}  {want[0]:{widths[1]}} {want[1]:{widths[2]}} {want[2]}"
            )
    print(f"\n{len(SCENARIOS) - wrong} of {len(SCENARIOS)} scenarios judged as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
