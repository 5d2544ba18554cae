"""nvidia-smi's text: rows by position, trouble by its words, and never a 0 for what is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.idle import gpus_idle
from gpu_tui.parse.nvidia_smi import GPU_FIELDS, parse_gpus

FIXTURES = Path(__file__).parent.parent / "fixtures" / "nvidia_smi"
MIB = 1 << 20


def fixture(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def test_two_cards_with_their_processes():
    table = parse_gpus(fixture("two_cards.out"), 0, fixture("two_cards.apps"), 0)
    assert table.error is None
    assert not table.processes_hidden
    busy, idle = table.gpus
    assert (busy.index, busy.name) == (0, "NVIDIA A100-SXM4-80GB")
    assert busy.uuid == "GPU-11111111-aaaa-4bbb-8ccc-000000000000"
    assert busy.utilization == 0.97
    assert (busy.memory_used, busy.memory_total) == (41236 * MIB, 81920 * MIB)
    assert (busy.temperature, busy.power, busy.power_limit) == (71.0, 402.1, 400.0)
    assert (busy.sm_clock_hz, busy.sm_clock_max_hz) == (1_380_000_000, 1_410_000_000)
    assert busy.throttle == ("hw_slowdown", "sw_thermal", "sw_power_cap")
    assert busy.ecc_uncorrected == 2
    assert [(p.pid, p.name, p.memory_used) for p in busy.processes] == [
        (4127, "/opt/conda/bin/python", 41226 * MIB),
        (4200, "eval, with a comma.py", None),
    ]
    assert busy.why == {}
    assert idle.utilization == 0.0
    assert idle.throttle == ()
    assert [(p.pid, p.name, p.memory_used) for p in idle.processes] == [(77, "(Not Found)", None)]


def test_a_real_card_at_rest_and_at_work_is_read_whole():
    """As driver 580 tells of an H100."""
    (rest,) = parse_gpus(fixture("h100_idle.out"), 0, b"", 0).gpus
    table = parse_gpus(fixture("h100_busy.out"), 0, fixture("h100_busy.apps"), 0)
    (work,) = table.gpus
    assert (rest.name, rest.why, work.why) == ("NVIDIA H100 80GB HBM3", {}, {})
    assert (rest.utilization, rest.memory_used, rest.throttle) == (0.0, 0, ())
    assert (work.utilization, work.memory_used) == (1.0, 973 * MIB)
    assert (work.power, work.power_limit) == (454.13, 700.0)
    assert (work.sm_clock_hz, work.sm_clock_max_hz) == (1_710_000_000, 1_980_000_000)
    assert work.throttle == ("sw_power_cap",)
    assert work.ecc_uncorrected == 0
    assert [(p.pid, p.name, p.memory_used) for p in work.processes] == [
        (1121, "python3", 964 * MIB)
    ]
    assert (table.error, table.processes_hidden) == (None, False)


def test_a_card_without_ecc_says_why():
    (gpu,) = parse_gpus(fixture("consumer.out"), 0, b"", 0).gpus
    assert gpu.ecc_uncorrected is None
    assert gpu.why == {"ecc_uncorrected": "not reported by this card"}


def test_processes_are_hidden_where_memory_is_used_and_none_is_listed():
    assert parse_gpus(fixture("consumer.out"), 0, b"", 0).processes_hidden
    assert not parse_gpus(
        fixture("two_cards.out"), 0, fixture("two_cards.apps"), 0
    ).processes_hidden


def test_an_unreadable_process_list_is_not_a_hidden_one():
    table = parse_gpus(fixture("consumer.out"), 0, b"", 124)
    assert not table.processes_hidden
    assert "did not return" in table.gpus[0].why["processes"]


def test_fields_without_a_number_are_none_each_with_its_reason():
    (gpu,) = parse_gpus(fixture("fields_unknown.out"), 0, b"", 0).gpus
    assert gpu.utilization is None
    assert gpu.temperature is None
    assert gpu.power is None
    assert gpu.sm_clock_hz is None
    assert gpu.ecc_uncorrected is None
    assert gpu.throttle == ()
    assert gpu.memory_used == 9216 * MIB
    assert gpu.why == {
        "utilization": "Unknown Error",
        "temperature": "not reported by this card",
        "power": "Not Supported",
        "sm_clock_hz": "Requested functionality has been deprecated",
        "ecc_uncorrected": "nvidia-smi says 'ERR!'",
        "throttle": "not reported by this card",
    }


@pytest.mark.parametrize(
    ("name", "code", "kind", "said"),
    [
        ("no_driver.out", 9, "no-driver", "couldn't communicate"),
        ("no_library.out", 12, "no-driver", "libnvidia-ml"),
        ("mismatch.out", 18, "no-driver", "version mismatch"),
        ("mismatch.out", 255, "no-driver", "version mismatch"),
        ("no_device.out", 6, "no-device", "No devices"),
        ("lost_hides_all.out", 15, "lost", "GPU1: GPU is lost"),
        ("no_permission.out", 4, "unknown-error", "Insufficient Permissions"),
        ("nvml_unknown.out", 255, "unknown-error", "Unknown Error"),
        ("bad_field.out", 2, "unknown-error", "mig.mode.current"),
    ],
)
def test_whole_failures(name: str, code: int, kind: str, said: str):
    table = parse_gpus(fixture(name), code, b"", 0)
    assert table.gpus == ()
    assert table.error is not None
    assert table.error.kind == kind
    assert said in table.error.text


@pytest.mark.parametrize(
    ("output", "code", "kind"),
    [
        (b"", 127, "no-nvidia-smi"),
        (b"sh: nvidia-smi: not found\n", 127, "no-nvidia-smi"),
        (b"", 126, "no-nvidia-smi"),
        (b"", 124, "hung"),
        (b"", 137, "hung"),
        (b"Terminated\n", 143, "hung"),
        (b"", 9, "no-driver"),
        (b"", 6, "no-device"),
        (b"", 15, "lost"),
        (b"", 0, "unknown-error"),
        (b"", 3, "unknown-error"),
        (b"<html>502 Bad Gateway</html>\n", 0, "unknown-error"),
    ],
)
def test_kinds_by_exit_code_alone(output: bytes, code: int, kind: str):
    error = parse_gpus(output, code, b"", 0).error
    assert error is not None
    assert error.kind == kind
    assert error.text


LOST = b"Unable to determine the device handle for GPU0000:41:00.0: Unknown Error\n"
NONE = b"No devices were found\n"
RESET = "Unable to determine the device handle for GPU 0000:04:00.0: GPU requires reset"


@pytest.mark.parametrize(
    ("output", "code", "kind", "said"),
    [
        (LOST * 2 + NONE, 255, "lost", "0000:41:00.0"),
        (NONE + LOST, 6, "lost", "0000:41:00.0"),
        (LOST, 124, "lost", "0000:41:00.0"),
        (RESET.encode(), 0, "lost", "requires reset"),
        (b"Failed to initialize NVML: Unknown Error\n" + NONE, 6, "unknown-error", "NVML"),
        (b"WARNING: infoROM is corrupted at gpu 0000:00:1E.0\n" + NONE, 6, "unknown-error", "1E"),
        (b"NVIDIA-SMI couldn't find libnvidia-ml.so library\n" + NONE, 12, "no-driver", "libn"),
        (
            b"ERROR: ld.so: object '/opt/x.so' from LD_PRELOAD: ignored.\n" + NONE,
            6,
            "no-device",
            "No",
        ),
        (b"", 14, "unknown-error", "14"),
    ],
)
def test_of_several_lines_the_worst_wins(output: bytes, code: int, kind: str, said: str):
    table = parse_gpus(output, code, b"", 0)
    assert table.error is not None
    assert (table.error.kind, table.gpus) == (kind, ())
    assert said in table.error.text
    assert gpus_idle(table) is (True if kind == "no-device" else None)


@pytest.mark.parametrize("code", [0, 255])
def test_a_lost_card_beside_rows_makes_idle_unknown(code: int):
    table = parse_gpus(fixture("h100_idle.out") + LOST, code, b"", 0)
    assert table.error is not None
    assert (table.error.kind, len(table.gpus)) == ("lost", 1)
    assert gpus_idle(table) is None


@pytest.mark.parametrize(
    "line",
    [
        b"1, GPU-22222222-aaaa-4bbb-8ccc-000000000000, 0",
        b"Failed to query GPU 0000:02:00.0: Timeout",
        b"NVML: Insufficient Permissions",
    ],
)
def test_a_line_about_a_card_that_is_no_row_makes_idle_unknown(line: bytes):
    table = parse_gpus(fixture("h100_idle.out") + line + b"\n", 0, b"", 0)
    assert table.error is not None
    assert table.error.kind == "unknown-error"
    assert gpus_idle(table) is None


def test_a_card_that_is_lost_in_the_list_of_processes_is_lost():
    table = parse_gpus(fixture("h100_idle.out"), 0, LOST, 0)
    assert table.error is not None
    assert table.error.kind == "lost"


INFOROM = b"WARNING: infoROM is corrupted at gpu 0000:00:1E.0\n"
PERSISTENCE = (
    b"Warning: persistence mode is disabled on device 00000000:01:00.0. See the man page.\n"
)


@pytest.mark.parametrize(("line", "code"), [(INFOROM, 14), (PERSISTENCE, 0), (INFOROM * 3, 14)])
@pytest.mark.parametrize("first", [True, False])
def test_a_warning_beside_rows_is_one_note(line: bytes, code: int, first: bool):
    query, apps = fixture("h100_busy.out"), fixture("h100_busy.apps")
    table = parse_gpus(line + query if first else query + line, code, apps + line, code)
    (card,) = table.gpus
    assert (table.error, len(table.notes)) == (None, 1)
    assert card.utilization == 1.0
    assert [process.pid for process in card.processes] == [1121]


def test_noise_of_the_loader_and_the_shell_is_no_word_of_a_card():
    noise = b"ERROR: ld.so: object '/gpu/x.so' from LD_PRELOAD cannot be preloaded: ignored.\n"
    noise += b"bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)\n"
    table = parse_gpus(noise + fixture("h100_idle.out"), 0, b"", 0)
    assert (table.error, table.notes) == (None, ())
    assert gpus_idle(table) is True


def test_a_driver_without_a_card_of_its_own_says_less_than_another_makers_card():
    dead = fixture("no_driver.out")
    kinds = [
        parse_gpus(dead, 9, b"", 0, devices=files).error
        for files in (b"", b"kfd\n", b"kfd\nnvidia0\n")
    ]
    assert [error.kind for error in kinds if error] == ["no-driver", "other-maker", "no-driver"]


def test_one_lost_card_does_not_hide_the_others():
    table = parse_gpus(fixture("lost_among_others.out"), 15, b"", 0)
    assert [gpu.index for gpu in table.gpus] == [1]
    assert table.error is not None
    assert table.error.kind == "lost"
    assert "02:00.0" in table.error.text


def test_a_card_that_is_lost_in_every_field_stays_a_row():
    table = parse_gpus(fixture("fields_lost.out"), 0, b"[GPU is lost], 1, 2, 3\n", 0)
    lost, well = table.gpus
    assert table.error is not None
    assert table.error.kind == "lost"
    assert lost.uuid == "unknown-0"
    assert lost.memory_used is None
    assert lost.why["memory_used"] == "GPU is lost"
    assert well.memory_used == 4 * MIB


def test_a_card_that_requires_a_reset_is_an_error_beside_its_row():
    table = parse_gpus(fixture("requires_reset.out"), 0, b"", 0)
    assert table.error is not None
    assert table.error.text == "GPU 0: GPU requires reset"
    assert table.gpus[0].utilization is None


def test_mig_names_its_instances_and_owns_their_processes():
    table = parse_gpus(fixture("mig.out"), 0, fixture("mig.apps"), 0, fixture("mig.list"))
    (gpu,) = table.gpus
    assert gpu.mig == "3g.40gb, 1g.10gb"
    assert gpu.utilization is None
    assert "MIG is on" in gpu.why["utilization"]
    assert [process.pid for process in gpu.processes] == [900]


def test_mig_without_instances():
    listing = fixture("mig.list").split(b"\n")[0]
    (gpu,) = parse_gpus(fixture("mig.out"), 0, b"", 0, listing).gpus
    assert gpu.mig == "enabled, without instances"


def test_hostile_text_is_made_harmless():
    row = fixture("consumer.out").replace(b"RTX 4090", b"\x1b]0;x\x07 \xe2\x80\xae 4090")
    (gpu,) = parse_gpus(row, 0, b"", 0).gpus
    assert gpu.name.isprintable()
    error = parse_gpus(b"\x1b[2Jno \xff idea\n", 1, b"", 0).error
    assert error is not None
    assert error.text.isprintable()


def test_a_share_beyond_100_percent_is_no_number():
    row = fixture("consumer.out").replace(b", 45, ", b", 4294967295, ")
    assert parse_gpus(row, 0, b"", 0).gpus[0].utilization is None


field = st.sampled_from(
    ["0", "7", "", "N/A", "[N/A]", "[Unknown Error]", "-1", "1e9", "nan", "Active", "GPU-12345678"]
) | st.text(max_size=12)


@given(
    st.lists(st.lists(field, min_size=1, max_size=len(GPU_FIELDS) + 1), max_size=5),
    st.integers(0, 255),
    st.binary(max_size=200),
)
def test_any_table_is_read_without_a_crash_and_without_an_invented_number(rows, code, apps):
    query = "\n".join(", ".join(row) for row in rows).encode("utf-8", "surrogatepass")
    table = parse_gpus(query, code, apps, code, apps)
    assert table.gpus or table.error
    for gpu in table.gpus:
        assert gpu.utilization is None or 0 <= gpu.utilization <= 1
        for name in ("utilization", "memory_used", "temperature", "power", "ecc_uncorrected"):
            assert (getattr(gpu, name) is None) == (name in gpu.why)
        assert gpu.name == "" or gpu.name.isprintable()
