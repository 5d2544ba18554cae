"""An instance without a box in the fleet file: what it needs, and what it cannot have."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_tui.core.fleet import HERE, Instance, SchedulerScope
from gpu_tui.parse.fleet_file import FleetError, parse_fleet
from gpu_tui.resources import load_profiles

PROFILES = load_profiles()
KUBE = "scheduler: {kind: kubernetes, context: lab, namespace: ml}"


def read(row: str) -> Instance:
    text = f"instances:\n  - {{name: a, {row}}}\n"
    return parse_fleet(text, Path("/x/fleet.yaml"), PROFILES, Path("/home/me")).instances[0]


def test_no_host_means_this_machine() -> None:
    lab = read(KUBE)
    assert lab.here
    assert lab.ssh == HERE
    assert lab.platform == "kubernetes"
    assert lab.scheduler_scope == SchedulerScope(None, "lab", "ml", None, "local")


def test_pod_usage_is_read_only_if_the_fleet_file_asks_for_it() -> None:
    assert read(KUBE).scheduler_scope.vitals is None
    for vitals in ("top", "exec"):
        assert read(KUBE.replace("}", f", vitals: {vitals}}}")).scheduler_scope.vitals == vitals


def test_defaults_for_boxes_do_not_concern_it() -> None:
    text = (
        "defaults: {ssh: {jump: b}, logs: '/x/{cell}.log', mounts: [/x]}\n"
        f"instances:\n  - {{name: a, {KUBE}}}\n  - {{name: b, host: b}}\n"
    )
    lab, box = parse_fleet(text, Path("/x/f"), PROFILES, Path("/home/me")).instances
    assert (lab.logs, lab.mounts, lab.here) == (None, (), True)
    assert (box.logs, box.mounts, box.ssh.jump) == ("/x/{cell}.log", ("/x",), "b")


def test_with_a_host_it_is_the_kubectl_of_the_box() -> None:
    box = read(f"host: bastion, {KUBE}")
    assert not box.here
    assert (box.platform, box.scheduler_scope.kubectl) == ("generic-ssh", "box")
    both = read("host: bastion, scheduler: {kind: kubernetes, kubectl: local}")
    assert not both.here
    assert both.scheduler_scope.kubectl == "local"


def test_a_selector_and_an_id() -> None:
    lab = read(
        'provider: {id: job/train-a}, scheduler: {kind: kubernetes, selector: "sweep in (a, b),!x"}'
    )
    assert lab.provider.id == "job/train-a"
    assert lab.scheduler_scope.selector == "sweep in (a, b),!x"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("scheduler: {kind: kubernetes, kubectl: box}", "needs a host"),
        ("scheduler: {kind: kubernetes, kubectl: there}", "cannot be"),
        ("scheduler: {kind: kubernetes, namespace: Big_One}", "cannot be a namespace"),
        ("scheduler: {kind: kubernetes, context: --kubeconfig=/x}", "cannot be a context"),
        ("scheduler: {kind: kubernetes, selector: '--all'}", "cannot be a selector"),
        ("scheduler: {kind: kubernetes, user: me}", "unknown key"),
        ("scheduler: {kind: slurm, kubectl: box}", "unknown key"),
        ("scheduler: {kind: kubernetes, vitals: all}", "vitals"),
        (f"ssh: {{jump: b}}, {KUBE}", '"ssh" is about a box'),
        (f"roots: {{proc: /p}}, {KUBE}", '"roots" is about a box'),
        (f"logs: '/x/{{cell}}.log', {KUBE}", '"logs" is about a box'),
        (f"provider: {{id: job/../x}}, {KUBE}", "does not look like"),
        (f"provider: {{id: secret/x}}, {KUBE}", "does not look like"),
        (f"host: b, platform: runpod, provider: {{id: job/x}}, {KUBE}", "does not look like"),
        ("scheduler: {kind: slurm}", 'lacks the key "host"'),
        ("tags: [x]", 'lacks the key "host"'),
    ],
)
def test_what_cannot_be_is_refused_in_its_place(row: str, words: str) -> None:
    with pytest.raises(FleetError) as caught:
        read(row)
    assert words in str(caught.value)
    assert caught.value.line == 2
