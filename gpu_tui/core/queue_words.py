"""Words for the progress of a queue or a sweep, shared by the header, the panes, notices, `check` and the report, so
that they agree about one state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpu_tui.core.campaign import Outlook, Tally, count_once, is_over
from gpu_tui.core.speech import say
from gpu_tui.core.sweep import CellState, Queue

Say = Callable[..., str]  # a template and its fields -> words, as `speech.say`
BAD = (CellState.FAILED, CellState.SYNC_FAILED, CellState.SUSPICIOUS)


@dataclass(frozen=True, slots=True)
class QueueWords:
    """The parts. `count`: `1/6 done`, or `1 done` if the total is unknown. `bad`: `, 1 failed`, or empty.
    `end`: `ended`, `more unknown`, or empty while cells run or wait. `brief` is count and end, `sentence` all three.
    """

    count: str
    bad: str
    end: str
    brief: str
    sentence: str


def english(template: str, **fields: object) -> str:
    """Format a template without translating it, for records and alerts."""
    return template.format(**fields)


def queue_words(queue: Queue, say: Say = say) -> QueueWords:
    """The words for the queue of one box."""
    tally, _ = count_once((queue,))
    return _words(tally, say, more=queue.more, over=is_over(queue, tally))


def sweep_words(outlook: Outlook) -> QueueWords:
    """The words for a whole sweep. Its total is a lower bound if a queue was not read or has no known total."""
    told = [one for one in outlook.lanes if not one.lane.queue.more]
    bound = not outlook.whole or (outlook.more and bool(told))
    return _words(outlook.tally, say, more=outlook.more, over=outlook.over, bound=bound)


def _words(tally: Tally, say: Say, *, more: bool, over: bool, bound: bool = False) -> QueueWords:
    """`bound`: the total is a lower bound."""
    if bound:
        count, brief = "{done}/{total}+ done", "{done}/{total}+ done · more unknown"
    elif more:
        count, brief = "{done} done", "{done} done · more unknown"
    else:
        count, brief = "{done}/{total} done", "{done}/{total} done · ended"
    end, tail = "", "{words}"
    if more:
        end, tail = say("more unknown"), "{words} · more unknown"
    elif over:
        end, tail = say("ended"), "{words} · ended"
    counted = say(count, done=tally.done, total=tally.total)
    bad = [(tally.count(state), state.value.replace("-", " ")) for state in BAD]
    listed = "".join(say(", {number} {what}", number=n, what=say(word)) for n, word in bad if n)
    sentence = say(tail, words=counted + listed) if end else counted + listed
    said = say(brief, done=tally.done, total=tally.total) if end else counted
    return QueueWords(counted, listed, end, said, sentence)
