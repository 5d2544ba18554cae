"""Streams of logs that go silent, with the real kubectl: nothing is lost, nothing comes twice."""

from __future__ import annotations

import asyncio

from kube_objects import at, ended, pod
from kube_server import KubeServer
from test_kube_watch import watching

from gpu_tui.core.events import LogOpened, Noted
from gpu_tui.core.fleet import Instance

SILENCE = 1.0  # seconds after which a stream is closed here


def follows(cluster: KubeServer, name: str) -> int:
    """How often the log of a pod was asked for as a stream."""
    path = f"/pods/{name}/log"
    asked = [r for r in cluster.requests if r.path.endswith(path)]
    return sum(r.query.get("follow") == "true" for r in asked)


async def test_a_stream_that_goes_mute_is_opened_again(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", pod("p"))
    said = [(at(f"10:00:11.{n}"), f"epoch {n}/9") for n in range(4)]
    await cluster.write("p", *said)
    async with watching(namespace, mute=SILENCE) as (heard, _):
        await heard.until(lambda: cluster.following == 1)
        cluster.mute = True
        more = [(at("10:00:11.3"), "of the same stamp"), (at("10:00:12"), "epoch 5/9")]
        await cluster.write("p", *more)
        await heard.until(lambda: "epoch 5/9" in heard.lines("p"))
        await cluster.write("p", (at("10:00:13"), "epoch 6/9"))
        await heard.until(lambda: "epoch 6/9" in heard.lines("p"))
    assert heard.lines("p") == [*(text for _, text in (*said, *more)), "epoch 6/9"]
    assert sum(isinstance(event, LogOpened) for event in heard.events) == 1


async def test_a_rotated_log_is_read_on_with_a_mark_for_missing_lines(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", pod("kept"))
    await cluster.put("pods", pod("lost"))
    for name in ("kept", "lost"):
        await cluster.write(name, (at("10:00:10"), "one"), (at("10:00:11"), "two"))
    async with watching(namespace, mute=SILENCE) as (heard, _):
        await heard.until(lambda: cluster.following == 2)
        await heard.until(lambda: len(heard.lines("kept")) == len(heard.lines("lost")) == 2)
        cluster.rotate("kept", kept=1)
        cluster.rotate("lost")
        for name in ("kept", "lost"):
            await cluster.write(name, (at("10:00:12"), "three"))
            await heard.until(lambda name=name: "three" in heard.lines(name))
    mark = "─── the log was rotated: lines before this one may be missing ───"
    assert heard.lines("kept") == ["one", "two", "three"]
    assert heard.lines("lost") == ["one", "two", mark, "three"]


async def test_a_quiet_program_is_asked_once_per_silence_and_a_person_may_ask_at_once(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", pod("p"))
    await cluster.write("p", (at("10:00:11"), "a long epoch"))
    async with watching(namespace, period=0.1) as (heard, watch):
        await heard.until(lambda: cluster.following == 1 and heard.table is not None)
        cluster.mute = True
        await cluster.write("p", (at("10:00:12"), "unheard"))
        watch.again()
        await heard.until(lambda: "unheard" in heard.lines("p"))
        assert follows(cluster, "p") == 2  # at the start, and at the key
    assert heard.lines("p") == ["a long epoch", "unheard"]


async def test_a_pod_made_again_under_its_name_is_another_one(
    cluster: KubeServer, namespace: Instance
) -> None:
    """As a StatefulSet or an operator makes it: the same name, another uid."""
    await cluster.put("pods", pod("p"))
    await cluster.write("p", (at("10:00:11"), "old: loss nan"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: cluster.following == 1)
        cluster.remove("pods", "p")
        del cluster.logs["default", "p", "main"]
        await cluster.put("pods", pod("p", meta={"uid": "another"}))
        await cluster.write("p", (at("10:09:00"), "new 1"), (at("10:09:01"), "new 2"))
        cluster.drop_streams()
        await heard.until(lambda: "new 2" in heard.lines("p"))
        await asyncio.sleep(0)
    told = [event for event in heard.events if isinstance(event, Noted)]
    assert heard.lines("p")[0] == "old: loss nan"
    assert heard.lines("p")[1].startswith("─── pod p was made again")
    assert heard.lines("p")[2:] == ["new 1", "new 2"]
    assert told, "its last lines could not be read, which is reported"
    opened = [event for event in heard.events if isinstance(event, LogOpened)]
    assert [event.next_attempt for event in opened] == [False, True]
    assert opened[0].inode != opened[1].inode


async def test_a_restart_that_no_list_shows_yet_is_not_read_as_the_old_attempt(
    cluster: KubeServer, namespace: Instance
) -> None:
    """A container restarts at once: its new log is there before the next list of the pods."""
    await cluster.put("pods", pod("p"))
    await cluster.write("p", (at("10:00:11"), "first"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: cluster.following == 1)
        await cluster.restart("p")
        await cluster.write("p", (at("10:20:30"), "second"))
        await cluster.put("pods", pod("p", restarts=1, last=ended(1)))
        await heard.until(lambda: "second" in heard.lines("p"))
    assert [line for line in heard.lines("p") if "───" not in line] == ["first", "second"]
