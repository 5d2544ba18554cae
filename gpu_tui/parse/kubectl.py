"""How kubectl is asked, always by a list of arguments, and what it means when it refuses.

Its words for a person differ between versions; a refusal is told apart by the API's own reason words
(`Forbidden`, `NotFound`) and by Go's network errors, and nothing but a sentence depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gpu_tui.core.command import Completed
from gpu_tui.core.fleet import SchedulerScope
from gpu_tui.core.plain import plain
from gpu_tui.core.redact import redact

PROGRAM = "kubectl"
NO_CACHE = "--cache-dir=/dev/null"  # where nothing can be written; kubectl goes on without it
REQUEST_SECONDS = 20  # that kubectl may wait for the API server
NAMESPACES_NAMED = 8  # in one sentence
NOT_FOUND = 127  # what a shell says where there is no such program


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was read. `state` is a LinkState.state."""

    state: str
    text: str
    next: str


def kubectl(
    scope: SchedulerScope, *words: str, wait: int | None = REQUEST_SECONDS
) -> tuple[str, ...]:
    """One call in the scope's context and namespace. On a box it leaves nothing behind."""
    return (
        PROGRAM,
        *(() if scope.kubectl == "local" else (NO_CACHE,)),
        *((f"--context={scope.context}",) if scope.context else ()),
        *((f"--namespace={scope.namespace}",) if scope.namespace else ()),
        *((f"--request-timeout={wait}s",) if wait else ()),
        *words,
    )


def get_all(scope: SchedulerScope) -> tuple[str, ...]:
    """Every job and pod of the scope."""
    selector = (f"--selector={scope.selector}",) if scope.selector else ()
    return kubectl(scope, "get", "jobs,pods", "--output=json", *selector)


def top(scope: SchedulerScope) -> tuple[str, ...]:
    """The usage of each container of the scope, by the metrics API."""
    selector = (f"--selector={scope.selector}",) if scope.selector else ()
    return kubectl(scope, "top", "pod", "--containers", "--no-headers", *selector)


def get_named(scope: SchedulerScope, kind: str, name: str) -> tuple[str, ...]:
    """A list with one object, or with none: that it is empty is an answer, not an error."""
    return kubectl(scope, "get", kind, "--output=json", f"--field-selector=metadata.name={name}")


def get_pods_of(scope: SchedulerScope, uid: str) -> tuple[str, ...]:
    """The pods that one very job made."""
    return kubectl(scope, "get", "pods", "--output=json", f"--selector=controller-uid={uid}")


def get_namespace(scope: SchedulerScope, name: str) -> tuple[str, ...]:
    """One namespace: a role within it may allow this where a list of all namespaces is forbidden."""
    return kubectl(scope, "get", "namespace", "--output=json", "--", name)


def get_namespaces(scope: SchedulerScope) -> tuple[str, ...]:
    """The names of all namespaces, a line each: `namespace/default`."""
    return kubectl(scope, "get", "namespaces", "--output=name")


def view_config(scope: SchedulerScope) -> tuple[str, ...]:
    """The context in use; kubectl leaves credentials out of this."""
    return kubectl(scope, "config", "view", "--minify", "--output=json", wait=None)


def no_namespace(scope: SchedulerScope, name: str, others: Sequence[str]) -> Refusal:
    """The namespace of the scope does not exist; `others` do, as far as they may be listed."""
    near = get_close_matches(name, others, NAMESPACES_NAMED)
    shown = [*near, *(one for one in others if one not in near)][:NAMESPACES_NAMED]
    more = ", …" if len(others) > len(shown) else ""
    there = f"There are: {', '.join(shown)}{more}. " if shown else ""
    place = scope.context or "the current context"
    return Refusal(
        "unreachable",
        f"there is no namespace {name} ({place})",
        f"{there}Correct scheduler.namespace, or make the namespace again.",
    )


def ask_access(scope: SchedulerScope) -> tuple[str, ...]:
    """The smallest question that needs what all others need."""
    return get_named(scope, "jobs", "gpu-tui-asks-for-access")


def logs(
    scope: SchedulerScope,
    pod: str,
    container: str | None,
    *,
    follow: bool = False,
    previous: bool = False,
    tail: int | None = None,
    since: str | None = None,
    most: int | None = None,
) -> tuple[str, ...]:
    """The log of one container, each line after its time. `most` bytes of it, the oldest."""
    return kubectl(
        scope,
        "logs",
        "--timestamps",
        *(("--follow",) if follow else ()),
        *(("--previous",) if previous else ()),
        *((f"--tail={tail}",) if tail is not None else ()),
        *((f"--since-time={since}",) if since else ()),
        *((f"--limit-bytes={most}",) if most else ()),
        *((f"--container={container}",) if container else ()),
        f"pod/{pod}",
        wait=None if follow else REQUEST_SECONDS,
    )


def shell(scope: SchedulerScope, pod: str, container: str) -> tuple[str, ...]:
    """An interactive shell in one container."""
    where = (f"pod/{pod}", f"--container={container}")
    return kubectl(scope, "exec", "--stdin", "--tty", *where, "--", "sh", wait=None)


def describe(scope: SchedulerScope) -> str:
    """Where it is asked, for a sentence."""
    place = scope.context or "the current context"
    return f"{place}, namespace {scope.namespace}" if scope.namespace else place


# (what stands in stderr, the state of the link, what it means, what to do): the first that fits
_MEANINGS: Sequence[tuple[re.Pattern[str], str, str, str]] = tuple(
    (re.compile(pattern, re.IGNORECASE), state, text, next)
    for pattern, state, text, next in (
        (
            r"\(Unauthorized\)|must be logged in|provide credentials|getting credentials|exec plugin|"
            r"refresh.{0,20}token|token.{0,20}expired|invalid_grant",
            "auth",
            "the cluster does not take these credentials",
            "Log in again the way this cluster wants it; it is asked again by itself.",
        ),
        (
            r"\(Forbidden\)",
            "auth",
            "the cluster does not let this user read that",
            "Ask for a role with get, list and watch on jobs, pods and pods/log.",
        ),
        (
            r"context .{0,260}does not exist|context was not found|no context exists",
            "auth",
            "the kubeconfig has no such context",
            "kubectl config get-contexts lists them; correct scheduler.context.",
        ),
        (
            r"no configuration has been provided|invalid configuration|stat .{1,260}no such file|"
            r"error loading config|localhost:8080",
            "auth",
            "kubectl has no usable kubeconfig",
            "Set KUBECONFIG, or write ~/.kube/config.",
        ),
        (r"no such host|server misbehaving|name resolution", "dns", "the name of the API server does not resolve", "Check the network, or the VPN that leads to the cluster."),
        (r"refused", "refused", "the API server refuses the connection", "Check that the cluster is up and the tunnel to it open."),
        (r"x509|certificate|tls:", "host-key", "the API server's certificate is not trusted", "Check the certificate authority in the kubeconfig; never switch the check off."),
        (
            r"timeout|timed out|deadline exceeded|i/o time",
            "timeout",
            "the API server did not answer in time",
            "Check the network, or the VPN that leads to the cluster.",
        ),
        (r"unreachable|no route|connection reset|\bEOF\b|ServiceUnavailable|TooManyRequests|InternalError|etcdserver", "unreachable", "the API server cannot be reached or is overloaded", "It is asked again; look at the cluster."),
        (r"\(NotFound\)|the server could not find", "unreachable", "the cluster has no such thing", "Check scheduler.namespace, and what may have been deleted."),
    )
)  # fmt: skip
_KLOG = re.compile(r"[EWIF]\d{4} \d\d:\d\d:\d\d")


def is_not_found(done: Completed) -> bool:
    """Whether the API server answered that the object does not exist."""
    return done.exit not in (0, NOT_FOUND) and b"(NotFound)" in done.stderr


def refusal_of(done: Completed, scope: SchedulerScope) -> Refusal:
    """What a kubectl that ended with another exit code than 0 means."""
    if done.exit == NOT_FOUND:
        return no_kubectl()
    told = done.stderr.decode("utf-8", "replace")
    for pattern, state, meaning, next in _MEANINGS:
        if pattern.search(told):
            return Refusal(state, f"{meaning} ({describe(scope)})", next)
    return Refusal(
        "unreachable",
        f"kubectl: {said(told) or f'exit {done.exit}'}",
        "Try the same kubectl by hand.",
    )


def no_kubectl() -> Refusal:
    """The program is not there."""
    return Refusal(
        "no-shell", "there is no kubectl to ask", "Install kubectl where gpu-tui is told to run it."
    )


def said(told: str) -> str:
    """The last line that is meant for a person, in one safe line."""
    lines = [line for line in told.splitlines() if line.strip() and not _KLOG.match(line)]
    return redact(plain(lines[-1].strip(), 160)) if lines else ""
