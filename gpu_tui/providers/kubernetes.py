"""One job or pod of a namespace, through the user's own kubectl: read it, delete it, see that it is gone.

`provider.id` is `job/NAME` or `pod/NAME`. What was looked at is known by its uid: the delete carries it as
a precondition, so the cluster itself refuses when somebody made another one under the same name. Only JSON
and exit codes are read. Gone is a list that the same server answered without it; an error never is.
Measured with kubectl 1.20, 1.27 and 1.33.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from gpu_tui.core.command import CommandFailed, Completed, RunCommand
from gpu_tui.core.fleet import Instance, ProviderState, SchedulerScope
from gpu_tui.core.gate import StopPermit
from gpu_tui.core.profile import Verb
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_object import (
    NotKubernetes,
    Object,
    condition,
    flag,
    items_of,
    number,
    part,
    raw,
    rows,
    text,
    time,
)
from gpu_tui.parse.kube_pod import Pod, owner_of, read_pod
from gpu_tui.parse.kubectl import get_named, get_pods_of, kubectl, refusal_of, said
from gpu_tui.providers.base import (
    Answer,
    AnswerKind,
    BadAnswer,
    Means,
    NoAnswer,
    ProviderError,
)

DELETE = "delete"
LIMIT = 40.0  # seconds; kubectl gives up after half of that
ID = re.compile(r"(job|pod)/([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)")
NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
UID = re.compile(r"[A-Za-z0-9-]{1,64}")
PATHS = {"job": "/apis/batch/v1/namespaces/{}/jobs/{}", "pod": "/api/v1/namespaces/{}/pods/{}"}
# The body of the delete reaches kubectl on its stdin: it has no flag for a precondition.
_SEND = 'printf %s "$1" | { shift; exec "$@"; }'
# The API's own words for "I did not do it". Whatever else goes wrong, it may have had its effect.
_REFUSED = re.compile(r"\((Conflict|Forbidden|NotFound|Invalid|Unauthorized)\)|must be logged in")


@dataclass(frozen=True, slots=True)
class _Where:
    """Which server and which namespace the scope leads to now."""

    server: str
    namespace: str


class Kubernetes:
    """One job's or one pod's control plane."""

    reads = True

    def __init__(self, instance: Instance, means: Means) -> None:
        """ProviderError where the id is none, or nobody runs kubectl."""
        self._id = instance.provider.id
        self._clock = means.clock
        self._scope: SchedulerScope = instance.scheduler_scope
        match = ID.fullmatch(self._id or "")
        if instance.scheduler != "kubernetes":
            raise ProviderError(
                "the fleet file names no cluster",
                next="Write scheduler: {kind: kubernetes, context: NAME, namespace: NAME}.",
            )
        if match is None:
            raise ProviderError(
                "provider.id is no job or pod", next="Write it like job/train-a or pod/train-a-x1."
            )
        run = means.here if self._scope.kubectl == "local" else means.on_box
        if run is None:
            raise ProviderError("there is nobody to run kubectl")
        self._kind, self._name = match[1], match[2]
        self._run_command: RunCommand = run
        self._uid: str | None = None
        self._where: _Where | None = None
        self._known: set[str] = set()
        self._sent = False

    def offers(self, verb: Verb) -> bool:
        """The delete of this one object; nothing else of the cluster is touched."""
        return verb.verb == DELETE and verb.via == "cli" and not verb.park

    def remember(self, id: str) -> None:
        """This object existed once."""
        self._known.add(id)

    async def read(self, id: str) -> ProviderState:
        """The object now. Absent counts as gone only where it was seen before, on this server."""
        try:
            return await self._read(id)
        except ProviderError as error:
            return ProviderState(error=str(error))

    async def at_work(self, id: str) -> tuple[str, ...] | None:
        """The pods of it that have not ended, by name; None where the cluster does not say."""
        try:
            item = await self._one()
            if item is None:
                return ()
            pods = await self._pods(item)
        except ProviderError:
            return None
        return tuple(
            f"pod {pod.name} on {pod.node or 'no node yet'} ({pod.word})"
            for pod in pods
            if not pod.over
        )

    async def stop(self, permit: StopPermit) -> Answer:
        """Send the one delete, for the very object that was looked at. Never repeats it."""
        permit.redeem(self._id, self._clock.boot())
        if permit.verb != DELETE:
            return Answer(AnswerKind.REFUSED, f"nothing here carries out {permit.verb}")
        if self._uid is None or self._where is None:
            return Answer(AnswerKind.REFUSED, "not sent: it was never seen")
        try:
            await self._same_place()
        except ProviderError as error:
            return Answer(AnswerKind.REFUSED, f"not sent: {error}")
        permit.hold_to(self._clock.boot())
        path = PATHS[self._kind].format(self._where.namespace, self._name)
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": self._uid},
            "propagationPolicy": "Background",
        }
        words = kubectl(self._scope, "delete", f"--raw={path}", "--filename=-")
        self._sent = True
        try:
            done = await self._run("sh", "-c", _SEND, "sh", json.dumps(body), *words)
        except NoAnswer as error:
            return Answer(AnswerKind.UNKNOWN, str(error))
        if done.exit == 0:
            return Answer(
                AnswerKind.ACCEPTED, "the cluster took the delete, which proves nothing yet", 0
            )
        told = done.stderr.decode("utf-8", "replace")
        kind = AnswerKind.REFUSED if _REFUSED.search(told) else AnswerKind.UNKNOWN
        return Answer(kind, f"kubectl ended with {done.exit}: {said(told)}", done.exit)

    # --- parts ----------------------------------------------------------------------------------------

    async def _read(self, id: str) -> ProviderState:
        if id != self._id:
            raise BadAnswer("asked for another object than the fleet file names")
        await self._same_place()
        item = await self._one()
        if item is None:
            return await self._absent(id)
        meta, status = part(item, "metadata"), part(item, "status")
        uid = raw(meta, "uid", 64)
        if uid is None or not UID.fullmatch(uid):
            raise BadAnswer("the object has no uid: it cannot be told from another one")
        if self._uid is not None and uid != self._uid:
            if self._sent:  # ours is gone, and somebody has made another one
                return await self._absent(
                    id, instead=f"another {self._kind} of that name is there now"
                )
            raise BadAnswer(f"this is another {self._kind} of the same name: look again")
        pods = await self._pods(item)
        state, word = _state_of(item, pods) if self._kind == "job" else _state_of_pod(pods)
        if state is None:
            raise BadAnswer(f"it is in a state not known here: {word}")
        self._uid = uid
        self._known.add(id)
        begun, limit = (
            time(status, "startTime"),
            number(part(item, "spec"), "activeDeadlineSeconds"),
        )
        over = state == "stopped"
        return ProviderState(
            state=state,
            read_at=self._clock.now(),
            started_at=begun,
            stopped_at=time(status, "completionTime"),
            facts={"status": word, **_owner(meta)},
            ends_at=begun + limit if begun is not None and limit is not None and not over else None,
        )

    async def _absent(self, id: str, instead: str | None = None) -> ProviderState:
        """It is not in the list: gone, if it was there before and no pod of it is left."""
        if id not in self._known:
            text = f"no such {self._kind} was ever seen there: check provider.id and the namespace"
            raise BadAnswer(text)
        left = await self._left()
        facts = {"status": instead} if instead else {}
        if left:
            facts = {"status": f"deleted, but pods of it are still there: {', '.join(left[:3])}"}
            return ProviderState("running", read_at=self._clock.now(), facts=facts)
        return ProviderState("gone", read_at=self._clock.now(), facts=facts)

    async def _left(self) -> list[str]:
        """Pods of a job that is no more. Without its uid they go by its name."""
        if self._kind == "pod":
            return []
        words = get_pods_of(self._scope, self._uid or "")
        if self._uid is None:
            words = kubectl(
                self._scope, "get", "pods", "--output=json", f"--selector=job-name={self._name}"
            )
        return [
            name
            for item in await self._list(*words)
            if (name := raw(part(item, "metadata"), "name"))
        ]

    async def _one(self) -> Object | None:
        """The object, or None: a list without it is an answer."""
        found = await self._list(*get_named(self._scope, f"{self._kind}s", self._name))
        same = [item for item in found if part(item, "metadata").get("name") == self._name]
        if found and not same:
            raise BadAnswer("the answer is about something else")
        return same[0] if same else None

    async def _pods(self, item: Object) -> list[Pod]:
        """The pods that are meant by it."""
        uid = raw(part(item, "metadata"), "uid", 64)
        if self._kind == "pod":
            found: list[Object] = [item]
        elif uid is None or not UID.fullmatch(uid):
            raise BadAnswer("the object has no uid: it cannot be told from another one")
        else:
            found = await self._list(*get_pods_of(self._scope, uid))
        read = [read_pod(pod, self._clock.now()) for pod in found]
        return [pod for pod in read if pod is not None]

    async def _same_place(self) -> None:
        """Where the scope leads; another server than before proves nothing of this one."""
        done = await self._run(
            *kubectl(self._scope, "config", "view", "--minify", "--output=json", wait=None)
        )
        if done.exit != 0:
            raise NoAnswer(refusal_of(done, self._scope).text)
        try:
            config: object = json.loads(done.stdout)
        except (ValueError, RecursionError):
            raise BadAnswer("kubectl's configuration is not JSON") from None
        view = config if isinstance(config, dict) else {}
        clusters = [part(row, "cluster") for row in rows(view, "clusters")]
        contexts = [part(row, "context") for row in rows(view, "contexts")]
        server = raw(clusters[0], "server", 500) if len(clusters) == 1 else None
        usual = raw(contexts[0], "namespace", 63) if len(contexts) == 1 else None
        namespace = self._scope.namespace or usual or "default"
        if server is None or not NAMESPACE.fullmatch(namespace):
            raise BadAnswer("the kubeconfig does not say which server is asked")
        now = _Where(server, namespace)
        if self._where is not None and now != self._where:
            raise BadAnswer("the context now leads to another server or namespace")
        self._where = now

    async def _list(self, *words: str) -> list[Object]:
        done = await self._run(*words)
        if done.exit != 0:
            refusal = refusal_of(done, self._scope)
            raise NoAnswer(refusal.text, next=refusal.next)
        try:
            return items_of(done.stdout)
        except NotKubernetes as error:
            raise BadAnswer(str(error)) from None

    async def _run(self, *argv: str) -> Completed:
        try:
            return await self._run_command(argv, limit=LIMIT)
        except CommandFailed as error:
            raise NoAnswer(str(error), next=error.next) from None


def _state_of(item: Object, pods: list[Pod]) -> tuple[str | None, str]:
    """A job's state for a meter. What is over has no pod that still runs."""
    spec, status = part(item, "spec"), part(item, "status")
    odd = [pod for pod in pods if _is_odd(pod)]
    live = [pod for pod in pods if not pod.over]
    if odd:
        return None, odd[0].word
    for kind in ("Complete", "Failed"):
        if (end := condition(status, kind)) is not None:
            word = text(end, "reason") or kind
            return ("running", f"{word}, pods are ending") if live else ("stopped", word)
    if flag(spec, "suspend"):
        return ("running", "Suspended, pods are ending") if live else ("stopped", "Suspended")
    return "running", "Running" if any(pod.live for pod in pods) else "Pending"


def _state_of_pod(pods: list[Pod]) -> tuple[str | None, str]:
    pod = pods[0] if pods else None
    if pod is None:
        return None, "no pod"
    if _is_odd(pod):
        return None, pod.word
    return "stopped" if pod.over else "running", pod.word


def _is_odd(pod: Pod) -> bool:
    """Its phase says nothing of whether it still holds its node."""
    return pod.state is CellState.CANNOT_TELL and pod.word not in ("Terminating", "NotReady")


def _owner(meta: Object) -> dict[str, str]:
    """What makes it again when it is deleted."""
    owner = owner_of(meta)
    return {"owner": f"{owner.kind}/{owner.name}"} if owner else {}
