"""The containers that count of a pod that has begun, judged together: the worst one is the pod's state."""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_containers import (
    DEFAULT_CONTAINER,
    Container,
    end_words,
    killed_for_memory,
    restart_finding,
    restart_words,
)
from gpu_tui.parse.kube_look import Look, Seen, phase_of
from gpu_tui.parse.kube_object import SENTENCE, clauses, number, text
from gpu_tui.parse.kube_waiting import begins_since, container_waits

# The state of a pod is that of the worst container that counts.
WORST = (
    CellState.FAILED,
    CellState.SUSPICIOUS,
    CellState.CANNOT_TELL,
    CellState.PENDING,
    CellState.RUNNING,
    CellState.FINISHED,
)


def worst_of(look: Look) -> Seen:
    """The containers that count, judged together."""
    judges = look.judges
    every = [_container(one, look) for one in judges.containers]
    if not every:
        return Seen(CellState.CANNOT_TELL, "Running", "its container has no status")
    every.sort(key=lambda seen: WORST.index(seen.state))
    worst = every[0]
    if not judges.known:
        return _untold(every)
    runs = [one.name for one in look.containers if one.runs and one not in judges.containers]
    if worst.state in (CellState.FINISHED, CellState.FAILED, CellState.SUSPICIOUS) and runs:
        words = f"{', '.join(runs[:3])} still run{'s' if len(runs) == 1 else ''} in its pod"
        if worst.word != "CrashLoopBackOff" and phase_of(look.status) == "Running":
            worst = replace(worst, why=clauses(worst.why, words))
    if len(every) == 1 or worst.by is None:
        return worst
    others = [f"{seen.by.name} {seen.word}" for seen in every[1:4] if seen.by]
    every_word = clauses(f"{worst.by.name}: {worst.why or worst.word}", *others)
    finding = next((seen.finding for seen in every if seen.finding), None)
    same = all(seen.state is worst.state and not seen.why for seen in every)
    return replace(worst, why=None if same else every_word, finding=worst.finding or finding)


def _untold(every: list[Seen]) -> Seen:
    """Nothing says which container trains: only what holds for all of them is known."""
    names = "; ".join(
        f"{seen.by.name}: {seen.why or seen.word}" if seen.why else f"{seen.by.name} {seen.word}"
        for seen in every[:4]
        if seen.by
    )
    words = f"which of its containers trains is not said ({names}): {DEFAULT_CONTAINER[0]} would name it"
    if all(seen.state is every[0].state for seen in every):
        return replace(every[0], why=words)
    return Seen(CellState.CANNOT_TELL, "NotReady", words, by=every[0].by)


def _container(one: Container, look: Look) -> Seen:
    """One container, whatever the others do."""
    again = restart_words(one, look.now)
    if one.runs:
        finding = restart_finding(one, look.now)
        return Seen(CellState.RUNNING, "Running", again, finding, one)
    if one.ended:
        return _ended(one)
    reason = text(one.waiting, "reason")
    if reason == "CrashLoopBackOff":
        return _crash_loop(one, again)
    if not reason:
        return Seen(CellState.CANNOT_TELL, "Running", "its container has no status", by=one)
    seen = container_waits(one, reason, look, begins_since(one, look))
    return replace(
        seen, why=clauses(seen.why, again), finding=seen.finding or restart_finding(one, look.now)
    )


def _ended(one: Container) -> Seen:
    code = number(one.ended, "exitCode")
    word = text(one.ended, "reason") or "Terminated"
    words = end_words(one.ended, word)
    if code == 0 and killed_for_memory(one.ended):
        why = "a process of it was killed for memory, and it ended with exit 0"
        return Seen(CellState.SUSPICIOUS, word, why, "host_oom", one)
    if code is None:
        return Seen(CellState.CANNOT_TELL, word, words, by=one)
    if code == 0:
        return Seen(CellState.FINISHED, word, None if words == "exit 0" else words, by=one)
    oom = "host_oom" if killed_for_memory(one.ended) else None
    return Seen(CellState.FAILED, word, words, oom, one)


def _crash_loop(one: Container, again: str | None) -> Seen:
    """It waits for its next attempt, longer each time. restartPolicy Always runs it again after exit 0 too."""
    word, code = "CrashLoopBackOff", number(one.before, "exitCode")
    if code == 0 and not killed_for_memory(one.before):
        why = "it ended with exit 0 and is to run again (restartPolicy Always)"
        return Seen(CellState.PENDING, word, clauses(why, again), by=one)
    words = clauses(again, text(one.before, "message", SENTENCE))
    oom = "host_oom" if killed_for_memory(one.before) else None
    return Seen(CellState.FAILED, word, words, oom, one)
