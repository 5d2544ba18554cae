"""What the tour says of the fleet that is on screen: one line of live data for each of its steps."""

from __future__ import annotations

from gpu_tui.core.findings import Severity
from gpu_tui.core.speech import counted, say
from gpu_tui.state.views import FleetView, InstanceView
from gpu_tui.ui.text.deadlines import rows_of


def live(title: str, fleet: FleetView, view: InstanceView | None) -> str:
    """The line under the step called `title`; empty where there is nothing to point at."""
    match title:
        case "Welcome":
            number = len(fleet.instances)
            up = sum(one.link.live for one in fleet.instances)
            return say(
                "Right now: {number}, {up} answering.",
                number=counted(number, "box"),
                up=up,
            )
        case "Instances" if view is not None:
            return say(
                "→ {name} is selected: {value}.", name=view.name, value=say(view.verdict.value)
            )
        case "Danger clocks" if fleet.clocks:
            ticking = rows_of(one for one in fleet.clocks if one.ticks)
            return say(
                "→ {clocks} ticking, the next one on top.", clocks=counted(len(ticking), "clock")
            )
        case "Vitals" | "Queue" | "Log" if view is not None:
            return say(
                "→ this is {name}; J and K go to the next box and the one before.", name=view.name
            )
        case "Findings" if fleet.findings:
            fatal = sum(one.severity is Severity.FATAL for one in fleet.findings)
            return say(
                "→ {findings} now, {fatal} of them fatal.",
                findings=counted(len(fleet.findings), "finding"),
                fatal=fatal,
            )
        case "Teardown":
            done = next((v.name for v in fleet.instances if v.verdict.value == "finished"), None)
            return (
                say("→ try it on {done}, which is finished; Cancel has the focus.", done=done)
                if done
                else ""
            )
    return ""
