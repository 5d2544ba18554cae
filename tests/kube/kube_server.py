"""An API server for the tests: HTTPS on loopback, a bearer token, jobs, pods and their logs.

It answers the real kubectl as the real one does: discovery, lists with selectors and pages, Tables where
they are asked for, watches, logs that are followed, Status objects for every error, and deletes with
preconditions. What it is told to do badly (hang, forbid, drop) it does until told otherwise.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kube_exec import Image, answer, run, shake_hands

from gpu_tui.wiring.clock import SystemClock

TOKEN = "test-token-of-nobody"
KINDS = {"jobs": "Job", "pods": "Pod"}
GROUPS = {"jobs": "batch", "pods": ""}
METRICS = "metrics.k8s.io"
VERSIONS = {"jobs": "batch/v1", "pods": "v1"}
RESOURCES = {
    "/api/v1": [
        ("pods", "Pod", ["po"]),
        ("pods/log", "Pod", []),
        ("pods/exec", "PodExecOptions", []),
        ("namespaces", "Namespace", []),
    ],
    "/apis/batch/v1": [("jobs", "Job", [])],
    "/apis/metrics.k8s.io/v1beta1": [("pods", "PodMetrics", [])],
}


@dataclass
class ContainerLog:
    """One container's log: stamped lines, and whether it goes on."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    ended: bool = False
    files: int = 1  # as the kubelet rotates them; a stream stays with the file that it began
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)


@dataclass
class Request:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    words: tuple[str, ...] = ()  # of the command to exec


class HttpError(Exception):
    """A Status object to answer with."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


class KubeServer:
    """Objects by (resource, namespace, name). Change them between requests as a cluster would."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], dict] = {}
        self.logs: dict[tuple[str, str, str], ContainerLog] = {}
        self.previous: dict[tuple[str, str, str], ContainerLog] = {}
        self.requests: list[Request] = []
        self.deleted: list[tuple[str, dict]] = []  # path and DeleteOptions of each delete
        self.forbidden: set[tuple[str, str]] = set()  # (method, resource)
        self.token = TOKEN
        self.hangs: set[str] = set()  # methods that are never answered
        self.acted = asyncio.Event()  # silently, once more
        self.acts_silently = False  # a delete is done, and its answer never sent
        self.lingers = False  # what is deleted stays, marked
        self.mute = False  # streams that follow a log send no more of it, and do not end
        self.namespaces: set[str] = {"default"}
        # By pod and container: CPU and memory; None: the cluster has no metrics-server.
        self.usage: dict[str, dict[str, tuple[str, str]]] | None = None
        # By pod and container: what its programs answer. Another image has no program at all.
        self.images: dict[tuple[str, str], Image] = {}
        self.with_shell: set[tuple[str, str]] = set()  # in which `sh` runs, on this machine
        self.page = 500
        self.version = 1
        self._changed = asyncio.Condition()
        self._streams: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    # --- the cluster ----------------------------------------------------------------------------------

    async def put(self, resource: str, item: dict) -> dict:
        """Create or replace one object."""
        self.version += 1
        meta = item["metadata"]
        meta.setdefault("namespace", "default")
        meta["resourceVersion"] = str(self.version)
        item.setdefault("apiVersion", VERSIONS[resource])
        item.setdefault("kind", KINDS[resource])
        self.objects[resource, meta["namespace"], meta["name"]] = item
        async with self._changed:
            self._changed.notify_all()
        return item

    def remove(self, resource: str, name: str, namespace: str = "default") -> None:
        """Delete one object as a controller would, its log too."""
        self.objects.pop((resource, namespace, name), None)

    def log(self, pod: str, container: str = "main", namespace: str = "default") -> ContainerLog:
        """The log of one container."""
        return self.logs.setdefault((namespace, pod, container), ContainerLog())

    async def write(
        self, pod: str, *lines: tuple[str, str], end: bool = False, container: str = "main"
    ) -> None:
        """Append stamped lines to a log, and maybe end it."""
        log = self.log(pod, container)
        log.lines += lines
        log.ended = end
        async with log.changed:
            log.changed.notify_all()

    def rotate(self, pod: str, kept: int = 0) -> None:
        """The kubelet begins a new file, with the last `kept` lines; a stream stays open and silent, as in
        kubernetes#115701, and the lines of the old file are no longer served.
        """
        log = self.log(pod)
        log.lines = log.lines[len(log.lines) - kept :]
        log.files += 1

    async def restart(self, pod: str, container: str = "main") -> None:
        """The container ends; its log becomes the previous one, and a new one begins."""
        await self.write(pod, end=True, container=container)
        key = ("default", pod, container)
        self.previous[key] = self.logs.pop(key)

    def drop_streams(self) -> int:
        """Cut every answer that is still going on; how many there were."""
        cut = len(self._streams)
        for writer in list(self._streams):
            writer.transport.abort()
        return cut

    @property
    def following(self) -> int:
        """Answers that are still going on."""
        return len(self._streams)

    # --- serving --------------------------------------------------------------------------------------

    async def start(self, directory: Path) -> None:
        """Listen; the certificate and a kubeconfig come to lie in `directory`."""
        certificate, key = _certificate(directory)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]
        (directory / "kubeconfig").write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [
                        {
                            "name": "lab",
                            "cluster": {
                                "server": f"https://127.0.0.1:{self.port}",
                                "certificate-authority": str(certificate),
                            },
                        }
                    ],
                    "users": [{"name": "me", "user": {"token": TOKEN}}],
                    "contexts": [
                        {
                            "name": "lab",
                            "context": {"cluster": "lab", "user": "me", "namespace": "default"},
                        }
                    ],
                    "current-context": "lab",
                }
            )
        )

    async def close(self) -> None:
        """Stop listening and cut what goes on."""
        self.drop_streams()
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                if request.method in self.hangs:
                    await asyncio.Event().wait()
                try:
                    if request.path.endswith("/exec"):
                        await self._exec(request, reader, writer)
                        return
                    await self._answer(request, writer)
                except HttpError as error:
                    await _send(writer, error.code, _status(error))
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            self._streams.discard(writer)
            writer.transport.abort()

    async def _exec(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Start a program in a container. Who may not is told so before the protocol changes."""
        _, namespace, _, pod, _ = request.path.strip("/").split("/")[2:]
        if ("EXEC", "pods/exec") in self.forbidden:
            text = (
                f'pods "{pod}" is forbidden: User "me" cannot create resource "pods/exec" in API group "" '
                f'in the namespace "{namespace}"'
            )
            raise HttpError(403, "Forbidden", text)
        self._one("pods", namespace, pod)
        if "sec-websocket-key" not in request.headers:
            raise HttpError(400, "BadRequest", "Upgrade request required")
        headers, place = request.headers, (pod, request.query.get("container", ""))
        offered = headers.get("sec-websocket-protocol", "")
        await shake_hands(headers["sec-websocket-key"], offered, writer)
        if place in self.with_shell:
            await run(reader, writer, request.words)
        else:
            image = self.images.get(place, lambda words: None)
            await answer(writer, request.words, image(request.words))

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise HttpError(401, "Unauthorized", "Unauthorized")
        if (found := _discovery(request.path, metrics=self.usage is not None)) is not None:
            await _send(writer, 200, found)
            return
        words = [unquote(word) for word in request.path.strip("/").split("/")]
        if words[:2] == ["apis", METRICS]:
            await _send(writer, 200, self._metrics(request, words[4]))
            return
        words = words[2:] if words[0] == "api" else words[3:]
        if words[:1] == ["namespaces"] and len(words) < 3:
            await _send(writer, 200, self._namespaces(words[1:], request))
            return
        if len(words) < 3 or words[0] != "namespaces" or words[2] not in KINDS:
            raise HttpError(404, "NotFound", "the server could not find the requested resource")
        _, namespace, resource, *rest = words
        sub = f"{resource}/{rest[1]}" if len(rest) > 1 else resource
        if (request.method, sub) in self.forbidden:
            text = (
                f'{resource} is forbidden: User "me" cannot do that in the namespace "{namespace}"'
            )
            raise HttpError(403, "Forbidden", text)
        if sub == "pods/log":
            await self._log(request, namespace, rest[0], writer)
        elif request.method == "DELETE" and rest:
            await self._delete(request, resource, namespace, rest[0], writer)
        elif rest:
            await _send(writer, 200, self._one(resource, namespace, rest[0]))
        elif request.query.get("watch") in ("1", "true"):
            await self._watch(request, resource, namespace, writer)
        else:
            await _send(writer, 200, self._list(request, resource, namespace))

    def _namespaces(self, names: list[str], request: Request) -> dict:
        if ("GET" if names else "LIST", "namespaces") in self.forbidden:
            raise HttpError(403, "Forbidden", 'namespaces is forbidden: User "me" cannot do that')
        found = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in sorted(self.namespaces)
            if not names or name == names[0]
        ]
        if names and not found:
            raise HttpError(404, "NotFound", f'namespaces "{names[0]}" not found')
        if names:
            return found[0]
        if "as=Table" in request.headers.get("accept", ""):
            return _table(found, {})
        return {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": found}

    def _metrics(self, request: Request, namespace: str) -> dict:
        """The answer of a metrics-server about the pods."""
        pods = self._chosen(request, "pods", namespace)
        items = [
            {
                "metadata": {"name": name, "namespace": namespace, "creationTimestamp": None},
                "timestamp": "2026-11-20T12:00:00Z",
                "window": "15s",
                "containers": [
                    {"name": container, "usage": {"cpu": cpu, "memory": memory}}
                    for container, (cpu, memory) in (self.usage or {}).get(name, {}).items()
                ],
            }
            for pod in pods
            if (name := pod["metadata"]["name"]) in (self.usage or {})
        ]
        version = f"{METRICS}/v1beta1"
        return {"kind": "PodMetricsList", "apiVersion": version, "metadata": {}, "items": items}

    def _one(self, resource: str, namespace: str, name: str) -> dict:
        found = self.objects.get((resource, namespace, name))
        if found is None:
            group = f".{GROUPS[resource]}" if GROUPS[resource] else ""
            raise HttpError(404, "NotFound", f'{resource}{group} "{name}" not found')
        return found

    def _chosen(self, request: Request, resource: str, namespace: str) -> list[dict]:
        found = [
            item
            for (kind, place, _), item in sorted(self.objects.items())
            if (kind, place) == (resource, namespace)
        ]
        for term in filter(None, request.query.get("fieldSelector", "").split(",")):
            key, _, value = term.partition("=")
            assert key == "metadata.name", key
            found = [item for item in found if item["metadata"]["name"] == value]
        for term in filter(None, request.query.get("labelSelector", "").split(",")):
            key, _, value = term.partition("=")
            found = [item for item in found if item["metadata"].get("labels", {}).get(key) == value]
        return found

    def _list(self, request: Request, resource: str, namespace: str) -> dict:
        found = self._chosen(request, resource, namespace)
        begin, limit = int(request.query.get("continue") or 0), self.page
        limit = min(limit, int(request.query.get("limit") or limit))
        page, more = found[begin : begin + limit], len(found) > begin + limit
        meta = {
            "resourceVersion": str(self.version),
            **({"continue": str(begin + limit)} if more else {}),
        }
        if "as=Table" in request.headers.get("accept", ""):
            return _table(page, meta)
        return {
            "kind": f"{KINDS[resource]}List",
            "apiVersion": VERSIONS[resource],
            "metadata": meta,
            # As the real one: objects in a list say neither kind nor version.
            "items": [
                {k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in page
            ],
        }

    async def _watch(
        self, request: Request, resource: str, namespace: str, writer: asyncio.StreamWriter
    ) -> None:
        await self._begin(writer, "application/json")
        seen: dict[str, dict] = {}
        while True:
            now = {i["metadata"]["name"]: i for i in self._chosen(request, resource, namespace)}
            events = [
                ("MODIFIED" if name in seen else "ADDED", item)
                for name, item in now.items()
                if seen.get(name) is not item
            ]
            events += [("DELETED", item) for name, item in seen.items() if name not in now]
            seen = now
            for kind, item in events:
                await _chunk(writer, json.dumps({"type": kind, "object": item}).encode() + b"\n")
            async with self._changed:
                await self._changed.wait()

    async def _log(
        self, request: Request, namespace: str, pod: str, writer: asyncio.StreamWriter
    ) -> None:
        item, query = self._one("pods", namespace, pod), request.query
        spec = item["spec"]
        every = [*spec["containers"], *spec.get("initContainers", ())]
        names = [container["name"] for container in every]
        name = query.get("container") or names[0]
        if name not in names:
            raise HttpError(400, "BadRequest", f"container {name} is not valid for pod {pod}")
        book = self.previous if query.get("previous") == "true" else self.logs
        log = book.get((namespace, pod, name))
        if log is None:
            text = f'previous terminated container "{name}" in pod "{pod}" not found'
            if book is self.logs:
                text = f'container "{name}" in pod "{pod}" is waiting to start: ContainerCreating'
            raise HttpError(400, "BadRequest", text)
        since = query.get("sinceTime")
        stamped = query.get("timestamps") == "true"
        at = 0
        if query.get("tailLines"):
            at = max(0, len(log.lines) - int(query["tailLines"]))
        left, file = int(query.get("limitBytes") or 1 << 40), log.files
        follows, first = query.get("follow") == "true", True
        await self._begin(writer, "text/plain")
        while True:
            for stamp, text in log.lines[at:]:
                if follows and not first and (self.mute or log.files != file):
                    break
                at += 1
                # The API's time has whole seconds: what comes of it is asked from its second on.
                if since is None or stamp[:19] >= since[:19]:
                    line = f"{stamp} {text}\n" if stamped else f"{text}\n"
                    if data := line.encode()[:left]:
                        left -= len(data)
                        await _chunk(writer, data)
            first, silent = False, self.mute or log.files != file
            if not follows or (log.ended and not silent):
                break
            async with log.changed:
                if silent or (at >= len(log.lines) and not log.ended):
                    await log.changed.wait()
        await self._finish(writer)

    async def _delete(
        self,
        request: Request,
        resource: str,
        namespace: str,
        name: str,
        writer: asyncio.StreamWriter,
    ) -> None:
        item = self._one(resource, namespace, name)
        options = json.loads(request.body) if request.body else {}
        uid = item["metadata"]["uid"]
        wanted = (options.get("preconditions") or {}).get("uid", uid)
        if wanted != uid:
            text = (
                f'Operation cannot be fulfilled on {resource}.{GROUPS[resource]} "{name}": Precondition '
                f"failed: UID in precondition: {wanted}, UID in object meta: {uid}"
            )
            raise HttpError(409, "Conflict", text)
        self.deleted.append((request.path, options))
        if self.lingers:
            item["metadata"]["deletionTimestamp"] = "2026-11-20T12:00:00Z"
        else:
            del self.objects[resource, namespace, name]
            for key in [k for k, v in self.objects.items() if _controller(v) == uid]:
                del self.objects[key]
        async with self._changed:
            self._changed.notify_all()
        if self.acts_silently:
            self.acted.set()
            await asyncio.Event().wait()
        details = {"name": name, "group": GROUPS[resource], "kind": resource, "uid": uid}
        await _send(
            writer,
            200,
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": details,
            },
        )

    async def _begin(self, writer: asyncio.StreamWriter, kind: str) -> None:
        self._streams.add(writer)
        writer.write(
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        await writer.drain()

    async def _finish(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        self._streams.discard(writer)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    first = await reader.readline()
    if not first:
        return None
    method, target, _ = first.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while line := (await reader.readline()).decode().strip():
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    size = int(headers.get("content-length") or 0)
    body = await reader.readexactly(size) if size else b""
    while headers.get("transfer-encoding") == "chunked":
        size = int((await reader.readline()).split(b";")[0], 16)
        body += await reader.readexactly(size)
        await reader.readline()
        if size == 0:
            break
    parts = urlsplit(target)
    asked = parse_qs(parts.query)
    query = {key: values[-1] for key, values in asked.items()}
    return Request(method, parts.path, query, headers, body, tuple(asked.get("command", ())))


async def _send(writer: asyncio.StreamWriter, code: int, body: dict) -> None:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    await writer.drain()


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


def _status(error: HttpError) -> dict:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        "code": error.code,
    }


def _discovery(path: str, *, metrics: bool) -> dict | None:
    if path == "/version":
        return {"major": "1", "minor": "30", "gitVersion": "v1.30.0", "platform": "linux/amd64"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        version = {"groupVersion": "batch/v1", "version": "v1"}
        groups = [{"name": "batch", "versions": [version], "preferredVersion": version}]
        if metrics:
            version = {"groupVersion": f"{METRICS}/v1beta1", "version": "v1beta1"}
            groups.append({"name": METRICS, "versions": [version], "preferredVersion": version})
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    if path in RESOURCES:
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": path.split("/", 2)[2],
            "resources": [
                {
                    "name": name,
                    "singularName": "",
                    "namespaced": name != "namespaces",
                    "kind": kind,
                    "verbs": ["get", "list", "watch", "delete"],
                    "shortNames": short,
                }
                for name, kind, short in RESOURCES[path]
            ],
        }
    return None


def _table(items: Iterable[dict], meta: dict) -> dict:
    rows = [
        {"cells": [item["metadata"]["name"]], "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}}
        for item in items
    ]  # fmt: skip
    column = {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": meta,
        "columnDefinitions": [column],
        "rows": rows,
    }


def _controller(item: dict) -> str | None:
    owners = item["metadata"].get("ownerReferences") or [{}]
    return owners[0].get("uid")


def _certificate(directory: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gpu-tui tests")])
    now = datetime.datetime.fromtimestamp(SystemClock().now(), datetime.UTC)
    host = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(host, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = directory / "tls.crt", directory / "tls.key"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate, secret
