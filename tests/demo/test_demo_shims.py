from __future__ import annotations

import subprocess

import pytest

from gpu_tui.demo.box import GIB, MIB, Box
from gpu_tui.parse.df import parse_mount, parse_mount_table
from gpu_tui.parse.nvidia_smi import APPS_QUERY, FORMAT, GPU_QUERY, MIG_QUERY, parse_gpus


def ask(box: Box, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, env=box.environment(), cwd=box.home, capture_output=True, text=True, check=False
    )


def test_nvidia_smi_answers_the_fields_in_the_order_they_were_asked(box: Box) -> None:
    query = "--query-gpu=uuid,index,memory.total,fan.speed,power.limit"
    done = ask(box, "nvidia-smi", query, "--format=csv,noheader,nounits")
    assert done.stdout == f"{box.cards[0].uuid}, 0, 24564, [N/A], 450.00\n"
    assert (done.returncode, done.stderr) == (0, "")


def test_nvidia_smi_has_header_and_units_unless_told_otherwise(box: Box) -> None:
    done = ask(box, "nvidia-smi", "--query-gpu=index,memory.total", "--format=csv")
    assert done.stdout == "index, memory.total [MiB]\n0, 24564 MiB\n"


def test_one_unknown_field_refuses_the_whole_query_on_stdout(box: Box) -> None:
    done = ask(box, "nvidia-smi", "--query-gpu=index,no.such", "--format=csv,noheader")
    assert done.returncode == 2
    assert done.stdout.startswith('Field "no.such" is not a valid field to query.')
    assert done.stderr == ""


def test_nvidia_smi_lists_the_trainer_with_its_memory(box: Box) -> None:
    box.load.gpu, box.load.gpu_memory = 0.9, 0.5
    box.trainer = box.spawn("python", ("python", "train.py"), 1_763_700_000.0)
    for _ in range(8):
        box.beat(1_763_700_010.0, 10.0)
    query = "--query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory"
    done = ask(box, "nvidia-smi", query, "--format=csv,noheader,nounits")
    uuid, pid, name, used = done.stdout.strip().split(", ")
    assert (uuid, pid, name) == (box.cards[0].uuid, str(box.trainer), "python")
    assert abs(int(used) - 24564 / 2) < 200


def test_nvidia_smi_names_its_cards_and_refuses_what_it_does_not_know(box: Box) -> None:
    listed = ask(box, "nvidia-smi", "-L").stdout
    assert listed == f"GPU 0: NVIDIA GeForce RTX 4090 (UUID: {box.cards[0].uuid})\n"
    assert ask(box, "nvidia-smi", "--reset").returncode != 0


def test_a_broken_driver_speaks_with_its_own_words_and_code(box: Box) -> None:
    text = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    (box.state / "gpu_error").write_text(f"9\n{text}\n")
    done = ask(box, "nvidia-smi", "-L")
    assert (done.returncode, done.stdout) == (9, text + "\n")


def test_df_counts_the_files_that_are_there(box: Box) -> None:
    fs = box.home / "autodl-fs"

    def row(option: str) -> list[str]:
        head, line = ask(box, "df", option, str(fs)).stdout.splitlines()
        assert len(head.split()) in (6, 7, 8)
        return line.split()

    assert row("-PiT")[1:] == ["nfs4", "2048", "1", "2047", "1%", str(fs)]
    (fs / "vis").mkdir()
    for number in range(1022):
        (fs / "vis" / f"{number}.png").write_bytes(b"x" * 1024)
    assert row("-Pi")[1:] == ["2048", "1024", "1024", "50%", str(fs)]
    size, used, free, share, mount = row("-Pk")[1:]
    assert (int(size), share, mount) == (200 << 20, "1%", str(fs))
    assert 1022 <= int(used) < 1200
    assert int(free) == int(size) - int(used)


def test_df_takes_hollow_files_at_their_size_and_keeps_disks_apart(box: Box) -> None:
    box.write_hollow("autodl-tmp/datasets/train.lmdb", 25 << 30)
    rows = ask(box, "df", "-Pk", "autodl-tmp", "autodl-fs", ".").stdout.splitlines()[1:]
    used = {line.split()[5].rpartition("/")[2]: int(line.split()[2]) for line in rows}
    assert used["autodl-tmp"] - (25 << 20) in range(64)
    assert used["autodl-fs"] == 0
    assert used["home"] < 1024


@pytest.mark.parametrize("path", ["/nowhere/at/all", "/"])
def test_df_says_what_it_cannot_answer_and_answers_the_rest(box: Box, path: str) -> None:
    done = ask(box, "df", "-Pk", path, str(box.home / "autodl-fs"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"df: {path}: ")
    assert done.stdout.splitlines()[1].endswith("/autodl-fs")


def test_a_mount_without_inode_counts_says_so_as_df_does(box: Box) -> None:
    line = ask(box, "df", "-Pi", str(box.home)).stdout.splitlines()[1]
    assert line.split()[1:5] == ["0", "0", "0", "-"]


def test_a_box_does_not_see_its_hosts_environment(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTODL_TOKEN", "secret")
    assert ask(box, "sh", "-c", "echo $HOME:$AUTODL_TOKEN").stdout == f"{box.home}:\n"
    assert ask(box, "hostname").stdout == "autodl-container-3f1c118a\n"
    assert ask(box, "date", "+%z").stdout == "+0800\n"


def test_the_cockpits_own_questions_are_answered_in_full(box: Box) -> None:
    box.load.gpu, box.load.gpu_memory = 0.95, 0.5
    box.trainer = box.spawn("python", ("python", "train.py"), 1_763_700_000.0)
    for _ in range(8):
        box.beat(1_763_700_010.0, 10.0)
    asked = [ask(box, "nvidia-smi", query, FORMAT) for query in (GPU_QUERY, APPS_QUERY)]
    gpus, apps = asked
    table = parse_gpus(gpus.stdout.encode(), gpus.returncode, apps.stdout.encode(), apps.returncode)
    assert table.error is None
    (gpu,) = table.gpus
    assert gpu.utilization is not None
    assert 0.7 < gpu.utilization <= 1
    assert gpu.memory_total == 24_564 * MIB
    assert gpu.power_limit == 450
    assert gpu.sm_clock_hz is not None
    assert 2.5e9 < gpu.sm_clock_hz < 3.2e9
    assert [process.pid for process in gpu.processes] == [box.trainer]
    assert not gpu.throttle
    assert ask(box, "nvidia-smi", MIG_QUERY, FORMAT).returncode == 0


def test_the_cockpit_reads_the_disks_as_mounts_with_their_types(box: Box) -> None:
    path = str(box.home / "autodl-fs")
    table = parse_mount_table((box.proc / "mounts").read_bytes())
    by_bytes, by_inodes = (
        ask(box, "df", option, path).stdout.encode() for option in ("-Pk", "-Pi")
    )
    mount = parse_mount(path, by_bytes, 0, by_inodes, 0, table)
    assert (mount.fstype, mount.bytes_total, mount.inodes_total) == ("nfs4", 200 * GIB, 2048)
    assert mount.inodes_used == 1
