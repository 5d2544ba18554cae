"""What may stand on a box that is torn down, and what keeps its gate shut."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rented import Scene

from gpu_tui.collect.follow_program import START
from gpu_tui.core.readings import Process
from gpu_tui.teardown import box as box_module
from gpu_tui.teardown.box import Survey, survey, work
from gpu_tui.teardown.idle import Image, program_of, working

WORK = [
    "python main.py --logger tensorboard --epochs 90",
    "python -m nerf.fit tensorboard",
    "python3 run.py gpustat",
    "python -u train.py",
    "python -c import\x20torch",
    "python -um fit.main jupyter",
    "python -X dev train.py jupyter",
    "python -m ipykernel_launcher -f k.json",
    "python",
    "/root/llm.c/train_gpt2cu -i data",
    "./gaussian_splat -s scene",
    "julia train.jl",
    "uv run train.py",
    "bash train.sh",
    "sh -c ./go",
    "bash -lc ./go",
    "bash -o pipefail run.sh",
    "rsync -a /scratch /res",
    "pt_main_thread",
    "ray::train()",
    "/opt/conda/bin/accelerate launch jupyter.py",
    "node train.js",
    "torchrun tensorboard",
    "watch -n 600 rsync -a /scratch/runs/ /root/results",  # between two runs of it nothing shows
    "watch -n5 nvidia-smi; cp -r /tmp/x /root/results",
    "watch -d cat /tmp/a > /root/results/a",
    "watch grep -c x $(./save)",
    "watch",
]
IDLE = [
    "/usr/sbin/sshd -D",
    "sshd: root@pts/0",
    "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups",
    "-bash",
    "/bin/bash -il",
    "bash --init-file /root/x.sh -i",
    "/bin/sh -s",
    "tmux new -s x",
    "SCREEN -S x",
    "/usr/sbin/cron -f",
    "/lib/systemd/systemd-journald",
    "/opt/conda/bin/python /opt/conda/bin/jupyter-lab --ip 0.0.0.0",
    "python3 -m tensorboard.main --logdir /runs",
    "python -mjupyter lab",
    "/usr/bin/python3 /usr/bin/supervisord -n",
    "/usr/lib/code-server/lib/node /usr/lib/code-server",
    "/root/.vscode-server/bin/f00/node /root/.vscode-server/bin/f00/out/server-main.js",
    "sleep infinity",
    "tail -f /dev/null",
    "nginx: worker process",
    "watch nvidia-smi",
    "watch -n 0.5 -d nvidia-smi",
    "/usr/bin/watch --interval 2 --color gpustat --color",
    "watch -n1 nvidia-smi | head -20; df -h",
]


def _process(line: str, pid: int = 500, ppid: int = 1, name: str | None = None) -> Process:
    """`name`: the kernel's; by default that of the program which the line names."""
    process = Process(pid, ppid, "", tuple(line.split(" ")), "S")
    return replace(process, name=program_of(process)[:15] if name is None else name)


@pytest.mark.parametrize("line", WORK)
def test_what_is_not_known_to_be_idle_is_work(line: str) -> None:
    assert working([_process(line)])


@pytest.mark.parametrize("line", IDLE)
def test_what_stands_on_every_box_is_no_work(line: str) -> None:
    assert working([_process(line)]) == ()


def test_whoever_holds_a_gpu_works() -> None:
    table = [
        _process("jupyter-lab", 5),
        _process("nvidia-persistenced", 6),
        _process("python /usr/bin/gpustat -i", 7),
    ]
    assert [process.pid for process in working(table, {5, 6, 7})] == [5]


def test_the_first_process_may_be_a_start_script_but_no_program() -> None:
    assert working([_process("bash /start.sh", 1, 0)]) == ()
    assert working([_process("python train.py", 1, 0)])


@pytest.mark.parametrize(
    ("shell", "line", "works"),
    [
        ("-bash", "sleep 7200", True),  # `sleep 7200 && python train.py`, typed
        ("/bin/bash -il", "sleep 2h", True),
        ("bash --rcfile /x -i", "/usr/bin/sleep 9", True),
        ("zsh", "busybox sleep 7200", True),
        ("bash -s", "sleep 7200", True),  # a program that came over stdin
        ("-fish", "sleep", True),
        ("-bash", "sleep infinity", False),
        ("-bash", "tail -f train.log", False),
        ("-bash", "tail --pid=77 -f /dev/null", True),
        ("tmux", "sleep 5", False),
        ("tini -- sh", "sleep 5", False),
    ],
)
def test_a_shell_that_waits_for_an_end_may_go_on_to_work(
    shell: str, line: str, works: bool
) -> None:
    table = [_process(shell, 40), _process(line, 41, 40)]
    assert (41 in [process.pid for process in working(table)]) is works
    assert working(table, own={40, 41}) == ()
    first = [_process("bash", 1, 0), _process("sleep 60", 41, 1)]
    assert working(first) == ()


def test_kernel_threads_are_children_of_kthreadd_alone() -> None:
    bare = Process(2, 0, "kthreadd", (), "S"), Process(40, 2, "kworker/0:1", (), "I")
    assert working(bare) == ()
    assert working([Process(2, 1, "fit", (), "S"), Process(40, 2, "kworker/0:1", (), "I")])
    assert working([Process(41, 2, "fit", ("fit",), "R"), *bare])


@pytest.mark.parametrize(
    ("line", "name", "path"),
    [
        ("sshd: root@pts/0", "python3", None),
        ("sshd: root@pts/0", "sshd", "/usr/bin/python3.11"),  # as setproctitle makes it
        ("sshd: root@pts/0", "sshd: root@pts/0", None),
        ("-bash", "train", None),
        ("bash -i", "bash", "/opt/train"),
        ("nginx: worker process", "nginx", "/opt/venv/bin/python3"),
        ("/sbin/init", "train_gpt2cu", None),
        ("systemd-resolved", "systemd-resolve", "/root/train"),
        ("watch nvidia-smi", "watch", "/root/train"),
        ("tmux new -s x", "python", None),
        ("sleep infinity", "fit", None),
    ],
)
def test_a_title_is_believed_only_where_the_kernel_names_the_same_program(
    line: str, name: str, path: str | None
) -> None:
    process = _process(line, name=name)
    assert working([process], images={process.pid: Image(0, path)})


@pytest.mark.parametrize(
    ("line", "name", "path"),
    [
        ("/sbin/init splash", "systemd", "/usr/lib/systemd/systemd"),
        ("init [2]", "init", "/sbin/init"),
        ("/tini -- sh", "tini", "/usr/bin/tini-static"),
        ("-sh", "sh", "/usr/bin/dash"),
        ("-zsh", "zsh", "/usr/bin/zsh-5.9"),
        ("sh", "sh", "/bin/busybox"),
        ("sleep infinity", "sleep", "/usr/lib/cargo/bin/coreutils/coreutils"),
        ("SCREEN -S x", "screen", "/usr/bin/screen-4.9.0"),
        ("tmux new -s x", "tmux: server", "/usr/bin/tmux"),
        ("nginx: worker process", "nginx", "/usr/sbin/nginx"),
        ("/lib/systemd/systemd-journald", "systemd-journal", "/usr/lib/systemd/systemd-journald"),
        ("(sd-pam)", "(sd-pam)", "/usr/lib/systemd/systemd"),
        ("sshd: root@pts/0", "sshd", "/usr/sbin/sshd (deleted)"),  # after an upgrade
        ("sshd: root@pts/0", "sshd-session", "/usr/lib/openssh/sshd-session"),
        ("sshd-session: root@pts/0", "sshd-session", None),  # another user's: nothing is shown
        ("dropbear -F", "dropbear", "/usr/sbin/dropbearmulti"),
        ("containerd-shim-runc-v2 -n x", "containerd-shim", "/usr/bin/containerd-shim-runc-v2"),
        ("/usr/bin/python3 /usr/bin/supervisord -n", "supervisord", "/usr/bin/python3.11"),
        ("/opt/conda/bin/python /x/jupyter-lab", "jupyter-lab", "/opt/conda/bin/python3.11"),
    ],
)
def test_a_program_of_many_names_is_idle_all_the_same(
    line: str, name: str, path: str | None
) -> None:
    process = _process(line, name=name)
    assert working([process], images={process.pid: Image(0, path)}) == ()


def test_a_holder_of_a_gpu_is_no_tool_by_its_title() -> None:
    process = _process("nvidia-smi dmon", name="nvidia-smi")
    assert working([process], {process.pid}) == ()
    assert working([process], {process.pid}, images={process.pid: Image(0, "/root/train")})


def test_another_gpu_tui_is_named_and_counts_as_work_all_the_same() -> None:
    python = 'import os; exec(os.environ.pop("GPU_TUI_PYTHON"))'
    follower = 'eval "$gpu_tui_follow"'
    old = "gpu-tui-0123456789abcdef"
    play = "sampler=$GPU_TUI_SAMPLER role=$GPU_TUI_ROLE; eval"
    commands = (
        ("sh", "-c", play),
        ("/usr/bin/python3", "-I", "-S", "-B", "-c", python),
        ("python", "train.py", play),
        ("bash", "--norc", "-c", follower, "follow", old),
        ("/bin/sh", "-s", old),
        ("python", "train.py", old),
    )
    assert f"-c '{follower}'" in START
    table = tuple(Process(n, 1, "x", argv, "S") for n, argv in enumerate(commands, 7))
    words = "another gpu-tui watches this box, by its command: "
    unheld = [True, True, False, True, True, False]
    for on_gpu, named in ((frozenset(), unheld), ({8}, [True, False, *unheld[2:]])):
        seen = Survey("boot", table, None, (), (), frozenset(on_gpu))
        told = work(seen, None, None) or ()
        assert [line.startswith(words) for line in told] == named
        assert [line.rpartition(" (")[2] for line in told] == [f"pid {n})" for n in range(7, 13)]


async def test_a_holder_of_a_gpu_is_seen_on_the_box(scene: Scene) -> None:
    assert scene.connection
    scene.box.process(9, ["jupyter-lab"])
    fds = scene.box.proc / "9" / "fd"
    fds.mkdir()
    (fds / "7").symlink_to("/dev/nvidia0")
    seen = await survey(scene.connection, scene.instance)
    assert work(seen, None, None) == ("jupyter-lab (pid 9)",)


@pytest.mark.parametrize("trouble", ["stat", "find", "date", "many"])
async def test_writing_that_cannot_be_judged_is_unknown(
    scene: Scene, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scene.connection
    scene.box.write("base/new.bin", b"x", age=0.0)
    seen = await survey(scene.connection, scene.instance)
    assert seen.busy == ("base/new.bin",)
    if trouble == "many":
        monkeypatch.setattr(box_module, "RECENT_MOST", 0)
    else:
        scene.box.sshd.program(trouble, "#!/bin/sh\nexit 127\n")
    assert (await survey(scene.connection, scene.instance)).busy is None
