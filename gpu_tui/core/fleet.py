"""The fleet as the user described it: frozen, checked, and without secrets (only env-var names)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpu_tui.core.profile import Sign


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in one currency (ISO code as typed)."""

    amount: float
    currency: str


@dataclass(frozen=True, slots=True)
class QueueFiles:
    """What tells what runs on the box; `~/` is the box's home.

    `file` and `log` are of our own queue script. `status` is a file with a runner's own word, and
    `status_command` prints it (an argument list). `commands` is a plain list, one command a line.
    `memory` is what a memory monitor writes. `useless`: neither the queue file, which was read, nor its log gives a
    cell; runs are then discovered as if neither was named.
    """

    file: str | None = None
    log: str | None = None
    status: str | None = None
    status_command: tuple[str, ...] = ()
    commands: str | None = None

    @property
    def names_runs(self) -> bool:
        """The fleet file says who tells what runs here; else it is looked for."""
        ours = (self.file or self.log) and not self.useless
        return bool(ours or self.status or self.status_command or self.commands)

    memory: str | None = None
    useless: bool = False


@dataclass(frozen=True, slots=True)
class Results:
    """Remote directory to pull, local directory to pull into.

    `artifacts` are the files that every cell must leave there (`core.required`); none: as the layout has it.
    `cells` are the cells that must be there; none: those of the queue file.
    """

    remote: str | None = None
    local: str | None = None
    artifacts: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderAccess:
    """How the control API knows this box. `key_env` is the NAME of an environment variable."""

    id: str | None = None
    variant: str | None = None
    key_env: str | None = None
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class SshAccess:
    """What ssh must know beyond ~/.ssh/config. `user`, `hostname`, `port` come from `host` when it says them."""

    host: str
    user: str | None = None
    port: int | None = None
    known_hosts: str | None = None
    identity: str | None = None
    jump: str | None = None
    config: str | None = None  # an ssh_config file instead of ~/.ssh/config
    transport: str | None = None  # direct, openssh (the user's own ssh program), None: as needed


HERE = SshAccess("this machine")  # no box: everything is asked by programs of this machine


@dataclass(frozen=True, slots=True)
class Since:
    """When a sweep began: `ago` seconds before now, or at `at` in epoch seconds. `written`: as in the fleet file."""

    written: str
    ago: float | None = None
    at: float | None = None

    def begin(self, now: float) -> float:
        """Epoch seconds."""
        return now - (self.ago or 0.0) if self.at is None else self.at


@dataclass(frozen=True, slots=True)
class SchedulerScope:
    """Whose jobs a scheduler is asked for: a Slurm user, or a Kubernetes context and namespace; and which of them are the
    sweep.

    `name` are globs of Slurm job names, `array` ids of arrays or jobs. `selector` is a label selector; `kubectl` is local
    (this machine's) or box. `vitals` is `top` if `kubectl top` may be asked, `exec` if
    nvidia-smi may be run in the containers, otherwise None.
    """

    user: str | None = None
    context: str | None = None
    namespace: str | None = None
    selector: str | None = None
    kubectl: str | None = None
    vitals: str | None = None
    name: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    since: Since | None = None
    array: tuple[str, ...] = ()

    @property
    def filters(self) -> str:
        """The filter as a person would write it; empty if there is none."""
        parts = {
            "name": ", ".join(self.name),
            "partition": ", ".join(self.partition),
            "since": "" if self.since is None else self.since.written,
            "array": ", ".join(self.array),
        }
        return ", ".join(f"{key}: {value}" for key, value in parts.items() if value)


@dataclass(frozen=True, slots=True)
class Roots:
    """Where the sampler reads the kernel's files, and finds the device files."""

    cgroup: str = "/sys/fs/cgroup"
    proc: str = "/proc"
    sys: str = "/sys"
    dev: str = "/dev"


@dataclass(frozen=True, slots=True)
class Instance:
    """One rented box. `logs` is a pattern with `{cell}`; `poll` and `stall_after` are seconds. `same_box` is the
    name of another entry that a person says is this very box.
    """

    name: str
    ssh: SshAccess
    platform: str = "generic-ssh"
    price: Money | None = None
    queue: QueueFiles = QueueFiles()
    logs: str | None = None
    results: Results = Results()
    mounts: tuple[str, ...] = ()
    provider: ProviderAccess = ProviderAccess()
    roots: Roots = Roots()
    tags: tuple[str, ...] = ()
    read_only: bool = False
    poll: float = 1.0
    stall_after: float = 900.0
    scheduler: str | None = None  # slurm or kubernetes
    scheduler_scope: SchedulerScope = SchedulerScope()
    signs: tuple[Sign, ...] = ()  # of other platforms, looked for where nobody named one
    same_box: str | None = None

    @property
    def here(self) -> bool:
        """There is no box to log in to: a local kubectl tells everything."""
        return self.ssh == HERE

    @property
    def tells_runs(self) -> bool:
        """The fleet file names what tells of runs here, also of those that are over."""
        return bool(self.queue.names_runs or self.logs or self.scheduler)

    @property
    def names_cells(self) -> bool:
        """The fleet file says which cells must leave results here."""
        return bool(self.results.cells or self.queue.file)

    def watched_like(self, other: Instance) -> bool:
        """Whether both name the same box, read in the same way: only what we make of it may differ."""
        return self == replace(
            other,
            price=self.price,
            tags=self.tags,
            stall_after=self.stall_after,
            same_box=self.same_box,
        )

    def said_to_be(self, other: Instance) -> bool:
        """The fleet file says that both are one box."""
        return (self.same_box or self.name) == (other.same_box or other.name)


@dataclass(frozen=True, slots=True)
class Fleet:
    """All instances of one fleet file, in its order."""

    sweep: str | None = None
    instances: tuple[Instance, ...] = ()
    source: str | None = None

    def __getitem__(self, name: str) -> Instance:
        """The instance called `name`; KeyError if there is none."""
        for instance in self.instances:
            if instance.name == name:
                return instance
        raise KeyError(name)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(instance.name for instance in self.instances)


@dataclass(frozen=True, slots=True)
class LinkState:
    """`state`: live, connecting, dns, timeout, unreachable, refused, host-key, auth, no-shell or off.

    `error` is one sentence, `next` what the user can do, `hop` the hop that failed,
    `host_key` the SHA-256 fingerprint that the box showed, `latency` in seconds, `via` what reaches it
    and why, where that is not this program itself.
    """

    state: str = "connecting"
    since: float = 0.0
    error: str | None = None
    next: str | None = None
    hop: str | None = None
    host_key: str | None = None
    latency: float | None = None
    retry_at: float | None = None
    via: str | None = None

    @property
    def live(self) -> bool:
        """Bytes come from the box now."""
        return self.state == "live"


@dataclass(frozen=True, slots=True)
class ProviderState:
    """What the control API last said: running, stopped, ended, gone or unknown; times are epoch seconds.

    `stopped` can be started again and may bill for its storage. `ended` never runs again and is still listed: that
    nothing of it bills any more only `gone` proves.

    `ends_at` is when the provider takes it away; `remark` what a person must know beside the state;
    `deadlines` are times at which single clocks of the platform fire, by the clock's id.
    """

    state: str = "unknown"
    read_at: float | None = None
    price: Money | None = None
    started_at: float | None = None
    stopped_at: float | None = None
    facts: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    address: tuple[str, int] | None = None  # host and port of its ssh, as the API has them
    ends_at: float | None = None
    remark: str | None = None
    deadlines: dict[str, float] = field(default_factory=dict)
    addresses: tuple[tuple[str, int], ...] = ()  # all of them, `address` is the first
    inner: tuple[str, ...] = ()  # its addresses in a private network
    parked: Money | None = None  # what it costs per hour once it is stopped
    lacks: tuple[str, ...] = ()  # tiers of its platform that this very instance has not
