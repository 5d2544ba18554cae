"""The fleet file: what it means, and how each mistake is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_tui.core.fleet import (
    Fleet,
    Money,
    ProviderAccess,
    QueueFiles,
    Results,
    Roots,
    SchedulerScope,
)
from gpu_tui.resources import load_profiles
from gpu_tui.settings import FleetError, fleet_of_hosts, load_fleet

Write = Callable[[str], Path]

WHOLE = """\
sweep: paper-ablation-v1
defaults: {platform: autodl, poll: 2s}
instances:
  - name: autodl-1
    host: autodl-1
    platform: autodl
    price_per_hour: 2.08 CNY
    queue: {file: /root/q/queue_1.txt, log: /root/autodl-tmp/runs/logs/q1_master.log}
    logs: /root/autodl-tmp/runs/logs/{cell}.log
    results:
      remote: /root/autodl-fs/final_ckpts
      local: ./results/paper-ablation-v1
      artifacts: [checkpoint-*/model.safetensors, all_results.json]
    mounts: [/root/autodl-tmp, /root/autodl-fs]
    provider: {id: null, variant: pro, key_env: AUTODL_TOKEN}
    ssh: {known_hosts: null, identity: keys/one, jump: me@bastion, config: ssh_config}
    scheduler: {kind: slurm, user: me}
    tags: [ablation]
    read_only: false
    stall_after: 15m
    roots: {cgroup: /sys/fs/cgroup, proc: /proc}
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(text: str) -> Path:
        path = tmp_path / "fleet.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


def fleet(path: Path) -> Fleet:
    return load_fleet(path, load_profiles())


def refused(path: Path) -> FleetError:
    with pytest.raises(FleetError) as caught:
        fleet(path)
    assert caught.value.file == str(path)
    return caught.value


def test_every_key_of_the_file(write: Write, tmp_path: Path) -> None:
    box = fleet(write(WHOLE))["autodl-1"]
    assert box.price == Money(2.08, "CNY")
    assert box.poll == 2.0
    assert box.stall_after == 900.0
    assert box.queue == QueueFiles(
        "/root/q/queue_1.txt", "/root/autodl-tmp/runs/logs/q1_master.log"
    )
    assert box.results == Results(
        "/root/autodl-fs/final_ckpts",
        str(tmp_path / "results/paper-ablation-v1"),
        ("checkpoint-*/model.safetensors", "all_results.json"),
    )
    assert box.provider == ProviderAccess(None, "pro", "AUTODL_TOKEN")
    assert (box.ssh.host, box.ssh.jump) == ("autodl-1", "me@bastion")
    assert box.ssh.identity == str(tmp_path / "keys/one")
    assert box.ssh.config == str(tmp_path / "ssh_config")
    assert (box.scheduler, box.scheduler_scope) == ("slurm", SchedulerScope(user="me"))
    assert box.tags == ("ablation",)
    assert box.roots == Roots()


def test_paths_default_to_what_the_profile_exports(write: Write, tmp_path: Path) -> None:
    boxes = fleet(
        write(
            "instances:\n"
            "  - {name: a, host: a, platform: autodl}\n"
            "  - {name: r, host: r, platform: runpod}\n"
            "  - {name: v, host: v, platform: vastai}\n"
            "  - {name: l, host: l, platform: lambda}\n"
            "  - {name: g, host: g}\n"
        )
    )
    a, r, v, l_, g = boxes.instances
    assert a.logs == "/root/autodl-tmp/runs/logs/{cell}.log"
    assert a.results.remote == "/root/autodl-fs/final_ckpts"
    assert a.mounts == ("/", "/root/autodl-tmp", "/root/autodl-fs")
    assert a.results.local == str(tmp_path / "results" / "a")
    assert r.mounts == ("/", "/workspace")
    assert v.results.remote == "/workspace/checkpoints"  # nothing durable on the box
    assert v.mounts == ("/",)
    assert l_.results.remote == "/home/ubuntu/checkpoints"  # the file system's name is the user's
    assert g.platform == "generic-ssh"
    assert g.logs == "~/proj/runs/logs/{cell}.log"
    assert a.queue == QueueFiles()


def test_defaults_are_merged_key_by_key(write: Write) -> None:
    boxes = fleet(
        write(
            "defaults: {ssh: {config: cfg, jump: hop}, tags: [x], read_only: true}\n"
            "instances:\n"
            "  - {name: a, host: a, ssh: {jump: other}}\n"
            "  - {name: b, host: b, read_only: false, tags: [], ssh: {transport: openssh}}\n"
        )
    )
    a, b = boxes.instances
    assert (a.ssh.transport, b.ssh.transport) == (None, "openssh")
    assert (a.ssh.jump, Path(a.ssh.config or "").name) == ("other", "cfg")
    assert (a.read_only, b.read_only) == (True, False)
    assert (a.tags, b.tags) == (("x",), ())


def test_home_in_local_paths_is_this_machines(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    text = "instances: [{name: a, host: a, ssh: {identity: ~/.ssh/id}}]\n"
    assert fleet(write(text))["a"].ssh.identity == "/home/somebody/.ssh/id"


BROKEN = [
    # text after "instances:\n", line, column, words of the error, words of the next step
    ("  - {name: a, host: a, platfrom: autodl}", 2, 24, 'unknown key "platfrom"', '"platform"'),
    ("  - {name: a, host: a, platform: autodi}", 2, 34, 'called "autodi"', '"autodl"'),
    ("  - {name: a, host: a, platform: AutoDL}", 2, 34, "no platform", '"autodl"'),
    ("  - {name: a, host: a, poll: 5}", 2, 30, '"poll" must be a duration', '"5s"'),
    ("  - {name: a, host: a, poll: true}", 2, 30, '"poll" must be a duration', '"15s"'),
    ("  - {name: a, host: a, stall_after: 15}", 2, 37, '"stall_after" must be a dur', '"15m"'),
    ("  - {name: a, host: a, poll: 5 s}", 2, 30, "not a duration", '"5s"'),
    ("  - {name: a, host: a, poll: 1ms}", 2, 30, "cannot be '1ms'", "Between"),
    ("  - {name: a, host: a, stall_after: '1:30'}", 2, 37, "not a duration", "1h30m"),
    ("  - {name: a, host: a, read_only: 'yes'}", 2, 35, "true or false, not 'yes'", None),
    ("  - {name: a, host: a, read_only: yes}", 2, 35, "'yes' without quotes", None),
    ("  - {name: a, host: a, price_per_hour: 2.08}", 2, 40, "not a price", '"2.08 CNY"'),
    ("  - {name: a, host: a, price_per_hour: '-1 CNY'}", 2, 40, "not a price", None),
    ("  - {name: a, host: a, tags: one}", 2, 30, '"tags" must be a list', "[a, b]"),
    ("  - {name: a, host: a, mounts: [relative]}", 2, 33, "not a whole path", '"/"'),
    ("  - {name: a, host: a, mounts: [/a/../b]}", 2, 33, "not a whole path", None),
    ("  - {name: a, host: a, logs: /x/log}", 2, 30, "{cell}", "{cell}"),
    ("  - {name: a, host: a, logs: '/x/{cel}.log'}", 2, 30, "{cell}", None),
    ("  - {name: a, host: a, ssh: {idenity: x}}", 2, 30, 'unknown key "idenity"', '"identity"'),
    ("  - {name: a, host: a, ssh: {jump: '-oX'}}", 2, 36, "not a host", None),
    ("  - {name: a, host: a, ssh: {transport: scp}}", 2, 41, "transport", "openssh"),
    ("  - {name: a, host: a, roots: {proc: proc}}", 2, 38, "not a whole path", None),
    ("  - {name: a, host: 'root@h:22'}", 2, 21, "port without ssh://", "ssh://root@h:22"),
    ("  - {name: a b, host: a}", 2, 12, "cannot be a name", "a-z"),
    ("  - {name: .., host: a}", 2, 12, "cannot be a name", None),
    ("  - {name: 北京一号, host: a}", 2, 12, "cannot be a name", "typed key by key"),
    ("  - {name: 7, host: a}", 2, 12, "must be a text", "quotes"),
    ("  - {name: a}", 2, 5, 'lacks the key "host"', "host"),
    ("  - {host: a}", 2, 5, 'lacks the key "name"', "name"),
    ("  - a", 2, 5, "must be a mapping", None),
    ("  - {name: a, host: a}\n  - {name: a, host: b}", 3, 12, "two instances", "rename"),
    (
        "  - {name: a, host: a, platform: runpod, provider: {id: x1}}\n"
        "  - {name: b, host: b, platform: runpod, provider: {id: x1}}",
        *(3, 12, 'two instances have the provider.id "x1" (the first in line 2)', "own id"),
    ),
    (
        "  - {name: a, host: a, results: {local: ./here}}\n"
        "  - {name: b, host: b, results: {local: x/../here/}}",
        *(3, 12, "two instances have the results.local", "directory of its own"),
    ),
    (
        "  - {name: a, host: a}\n  - {name: b, host: b, results: {local: results/a}}",
        *(3, 12, "two instances have the results.local", None),
    ),
    ("  - {name: a, host: a, results: {artifacts: [a.pt, ../b.pt]}}", 2, 52, '"../b.pt" cannot', "checkpoint-*/"),
    ("  - {name: a, host: a, results: {artifacts: [/a.pt]}}", 2, 46, '"/a.pt" cannot be a file', None),
    ("  - {name: a, host: a, results: {artifacts: ['m-*-of-*.pt']}}", 2, 46, "cannot be a file", "one *"),
    ("  - {name: a, host: a, results: {artifacts: ['{cell}.pt']}}", 2, 46, "cannot be a file", None),
    ("  - {name: a, host: a, results: {artifacts: [a//b.pt]}}", 2, 46, "cannot be a file", None),
    ("  - {name: a, host: a, results: {artifacts: [a.json]}}", 2, 45, "none of the artifacts holds", ".safetensors"),
    ("  - {name: a, host: a, results: {artifacts: [optimizer.pt]}}", 2, 45, "none of the artifacts holds", "optimizer"),
    ("  - {name: a, host: a, results: {artifacts: ['*/rng_state_*.pth']}}", 2, 45, "none of the artifacts", ".pt"),
    ("  - name: a\n   host: b", 3, 4, "not valid YAML", "begin in one column"),
    ("  - {name: a, host: a, results: {artifacts: [*.pt]}}", 2, 47, "not valid YAML", "begins with * in quotes"),
    ("  - {name: a, host: a, results: {artifacts: [last/manifest.ocdbt]}}", 2, 45, "none of the artifacts", "Orbax"),
    ("  - {name: a, host: a, results: {artifacts: []}}", 2, 45, "none of the artifacts holds", ".pth"),
    ("  - {name: a, host: a, results: {artifacts: best.pth}}", 2, 45, "must be a list", "[a, b]"),
    ("  - {name: a, host: a, results: {artifacts: [" + "a.pt, " * 17 + "]}}", 2, 45, "there are 17 artifacts", "fewer"),
    ("  - {name: a, host: a, results: {cells: []}}", 2, 41, "the list of cells is empty", "directory"),
    ("  - {name: a, host: a, results: {cells: [x, y/z]}}", 2, 45, "cannot be a cell", "results.remote"),
    ("  - {name: a, host: a, results: {cells: [..]}}", 2, 42, "cannot be a cell", None),
    ("  - {name: a, host: a, queue: {file: /q}, results: {cells: [x]}}", 2, 60, "named twice", "Keep"),
    ("  - {name: a, host: a, scheduler: {kind: slurn}}", 2, 42, "'slurn'", '"slurm"'),
    ("  - {name: a, host: a, scheduler: {kind: slurm, context: c}}", 2, 49, "unknown key", None),
    ("  - {name: a, host: a, platform: autodl, provider: {variant: pr}}", 2, 62, "variant", '"pro"'),
    ("  - {name: a, host: a, provider: {base_url: 'http://api.x.org'}}", 2, 45, "https", "https"),
    ("  - {name: a, host: a, provider: {base_url: ftp}}", 2, 45, "web address", None),
    ("  - {name: a, host: a, provider: {id: 'a b'}}", 2, 39, "instance id", None),
    ("  - {name: a, name: b, host: a}", 2, 15, "second time", None),
    ("  - {name: a, host: \"a\\x1b[2J\"}", 2, 21, "control character", None),
    ("  - {name: a, host: a, tags: [\"\\ud800\"]}", 2, 31, "control character", "Remove"),
]  # fmt: skip


@pytest.mark.parametrize(("rest", "line", "column", "words", "hint"), BROKEN)
def test_a_mistake_is_told_with_its_place(
    write: Write, rest: str, line: int, column: int, words: str, hint: str | None
) -> None:
    error = refused(write(f"instances:\n{rest}\n"))
    assert words in error.text
    assert (error.line, error.column) == (line, column)
    assert hint is None or hint in (error.next or "")


SECRETS = [
    "sk-proj-abcdefghijklmnop",
    "eyJhbGciOiJIUzI1NiJ9.e30.abc",
    "AKIAIOSFODNN7EXAMPLE",
    "0123456789abcdef0123456789abcdef",
    "hunter2",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("shape", ["{{key_env: '{}'}}", "{{token: '{}'}}", "'{}'"])
def test_a_pasted_secret_is_refused_and_never_repeated(
    write: Write, secret: str, shape: str
) -> None:
    text = f"instances: [{{name: a, host: a, provider: {shape.format(secret)}}}]\n"
    error = refused(write(text))
    assert error.line == 1
    assert error.next
    assert secret not in f"{error} {error.next}"


def test_a_dollar_before_the_name_is_explained(write: Write) -> None:
    text = "instances: [{name: a, host: a, provider: {key_env: $RUNPOD_API_KEY}}]\n"
    assert refused(write(text)).next == "Write key_env: RUNPOD_API_KEY"


def test_the_usual_variable_is_the_default(write: Write) -> None:
    text = "instances: [{name: a, host: a, platform: runpod, provider: {id: 4242}}]\n"
    assert fleet(write(text))["a"].provider == ProviderAccess("4242", None, "RUNPOD_API_KEY")


def test_an_alias_of_a_variant_is_its_id(write: Write) -> None:
    text = "instances: [{name: a, host: a, platform: autodl, provider: {variant: container-pro}}]\n"
    assert fleet(write(text))["a"].provider.variant == "pro"


@pytest.mark.parametrize("text", ["", "sweep: x\n", "instances: []\n", "instances:\n", "- a\n"])
def test_a_file_without_instances_is_an_error(write: Write, text: str) -> None:
    refused(write(text))


def test_defaults_may_not_name_an_instance(write: Write) -> None:
    error = refused(write("defaults: {host: a}\ninstances: [{name: a}]\n"))
    assert error.line == 1


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path / "missing.yaml").text
    assert "cannot be read" in refused(tmp_path).text
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"sweep: x\nname: \xff\xfe\n")
    assert refused(binary).line == 2
    large = tmp_path / "l.yaml"
    large.write_bytes(b"#" * 600_000)
    assert "too large" in refused(large).text


def test_a_fleet_of_300_that_says_everything_of_each(write: Write) -> None:
    head, one = WHOLE.split("  - name: autodl-1\n")
    one = one.replace("local: ./results/paper-ablation-v1", "local: null").replace(
        "id: null", "id: box-{n}"
    )
    boxes = [f"  - name: box-{n}\n{one.replace('{n}', str(n))}" for n in range(300)]
    path = write(head + "".join(boxes).replace("host: autodl-1", "host: a-jump-host.example.org"))
    assert len(fleet(path).instances) == 300


def test_a_fleet_of_hosts() -> None:
    made = fleet_of_hosts(["a", "root@a", "ssh://a:2222", "[::1]"], "autodl")
    assert made.names == ("a", "a-2", "a-2222", "1")
    assert made["a-2222"].ssh.port == 2222
    assert made["a"].mounts == ("/", "/root/autodl-tmp", "/root/autodl-fs")


def test_hosts_and_platforms_are_checked() -> None:
    with pytest.raises(FleetError) as caught:
        fleet_of_hosts(["a"], "autodi")
    assert caught.value.next == 'Did you mean "autodl"?'
    with pytest.raises(FleetError):
        fleet_of_hosts(["-oProxyCommand=x"], "autodl")


def test_slurms_jobs_are_asked_for_where_nothing_else_tells_what_runs(write: Write) -> None:
    text = """instances:
  - {name: a, host: a, platform: slurm}
  - {name: b, host: b, platform: slurm, queue: {file: /q.txt}}
  - {name: c, host: c, platform: slurm, scheduler: {kind: slurm, user: me}}
  - {name: d, host: d}
"""
    schedulers = [box.scheduler for box in load_fleet(write(text), load_profiles()).instances]
    assert schedulers == ["slurm", None, "slurm", None]
    assert fleet_of_hosts(["a"], "slurm", load_profiles()).instances[0].scheduler == "slurm"


def test_signs_are_looked_for_where_no_platform_is_named(write: Write) -> None:
    text = """instances:
  - {name: a, host: a}
  - {name: b, host: b, platform: runpod}
  - {name: c, host: c, scheduler: {kind: slurm}}
  - {name: d, host: d, platform: generic-ssh}
"""
    bare, named, login, chosen = load_fleet(write(text), load_profiles()).instances
    assert {"runpod", "autodl", "slurm"} <= {sign.platform for sign in bare.signs}
    assert named.signs == login.signs == chosen.signs == ()
    assert fleet_of_hosts(["a"], None, load_profiles()).instances[0].signs == bare.signs
    assert fleet_of_hosts(["a"], "runpod", load_profiles()).instances[0].signs == ()


@pytest.mark.parametrize(
    ("rows", "text", "place"),
    [
        (
            "[{name: a, host: a, same_box: bb}, {name: b, host: b}]",
            '"same_box": no instance is called "bb"',
            (1, 42),
        ),
        (
            "[{name: a, host: a}, {name: b, host: b, same_box: b}]",
            '"same_box": "b" is this instance itself',
            (1, 62),
        ),
        (
            "[{name: a, host: a}, {name: b, host: b, same_box: a}, {name: c, host: c, same_box: b}]",
            '"same_box": "b" names "a" itself',
            (1, 95),
        ),
        (
            "[{name: a, host: a, same_box: b}, {name: b, host: b, same_box: a}]",
            '"same_box": "b" names "a" itself',
            (1, 42),
        ),
        (
            "[{name: a, host: a, same_box: k}, {name: k, scheduler: {kind: kubernetes, kubectl: local}}]",
            '"same_box": "k" has no box',
            (1, 42),
        ),
    ],
)
def test_one_box_under_two_names_is_said_at_one_of_them(
    write: Write, rows: str, text: str, place: tuple[int, int]
) -> None:
    error = refused(write(f"instances: {rows}\n"))
    assert error.text == text
    assert (error.line, error.column) == place
    assert error.next


def test_several_names_of_one_box(write: Write) -> None:
    rows = "[{name: a, host: a}, {name: b, host: b, same_box: a}, {name: c, host: c, same_box: a}, {name: d, host: d}]"
    a, b, c, d = fleet(write(f"instances: {rows}\n")).instances
    assert (a.same_box, b.same_box) == (None, "a")
    assert all(one.said_to_be(other) for one in (a, b, c) for other in (a, b, c))
    assert not any(d.said_to_be(one) or one.said_to_be(d) for one in (a, b, c))
    assert (
        "unknown key"
        in refused(write("defaults: {same_box: a}\ninstances: [{name: a, host: a}]\n")).text
    )
