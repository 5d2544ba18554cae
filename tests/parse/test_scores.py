"""Metrics files of finished runs, as `head` prints them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.parse.scores import FILE_BYTES, METRICS_KEPT, parse_scores

WAYS = ("/fs/{cell}/best_metrics.json", "/data/checkpoints/{cell}/best_metrics.json")


def shown(*files: tuple[str, str]) -> bytes:
    return "".join(f"\n==> {path} <==\n{body}" for path, body in files).lstrip("\n").encode()


def test_numbers_are_kept_and_nothing_else() -> None:
    text = shown(
        ("/dev/null", ""),
        (
            "/fs/a/best_metrics.json",
            '{"epoch": 12, "psnr": 31.4, "n": 3, "ok": true, "tag": "x"}\n',
        ),
        ("/fs/b c/best_metrics.json", '{"epoch": null, "metrics": {"iou": 0.5}, "loss": NaN}'),
        ("/fs/d/best_metrics.json", '{"torn": 1'),
        ("/fs/e/best_metrics.json", "[1, 2]"),
        ("/etc/passwd", '{"psnr": 1}'),
    )
    by_run = parse_scores(text, WAYS).by_run
    assert by_run["a"] == {"psnr": 31.4, "n": 3.0}
    assert by_run["b c"]["iou"] == 0.5
    assert list(by_run) == ["a", "b c"]


def test_how_fast_it_went_is_no_score() -> None:
    body = (
        '{"epoch": 3.0, "eval_loss": 0.5, "eval_runtime": 2.1, "eval_samples": 9, "total_flos": 1e15,'
        '"eval_samples_per_second": 4.2, "train_runtime": 12.3, "train_steps_per_second": 1, "sampled": 2}'
    )
    text = shown(("/fs/a/best_metrics.json", body))
    assert parse_scores(text, WAYS).by_run == {"a": {"eval_loss": 0.5, "sampled": 2.0}}


def test_the_durable_copy_goes_before_the_checkpoint() -> None:
    local = ("/data/checkpoints/a/best_metrics.json", '{"psnr": 1}')
    durable = ("/fs/a/best_metrics.json", '{"psnr": 2}')
    for order in ((local, durable), (durable, local)):
        assert parse_scores(shown(*order), WAYS).by_run == {"a": {"psnr": 2.0}}


def test_tests_of_a_sealed_run_and_a_path_at_home() -> None:
    ways = ("~/export/{cell}/test/{cell}/metrics.json",)
    text = shown(
        ("/root/export/a-20260103/test/clean/metrics.json", '{"acc": 0.9}'),
        ("/root/export/a-20260103/test/noisy/metrics.json", '{"acc": 0.7}'),
    )
    by_run = parse_scores(text, ways, "/root").by_run
    assert by_run == {"a-20260103": {"clean.acc": 0.9, "noisy.acc": 0.7}}


def test_what_is_hostile_is_bounded_and_harmless() -> None:
    many = ", ".join(f'"m{n}": {n}' for n in range(METRICS_KEPT + 50))
    deep = "[" * 5_000
    text = shown(
        ("/fs/a/best_metrics.json", "{" + many + "}"),
        ("/fs/b/best_metrics.json", '{"\\u001b[31mx": 1, "big": 1' + "0" * 400 + "}"),
        ("/fs/c/best_metrics.json", deep),
    )
    by_run = parse_scores(text, WAYS, dropped=7).by_run
    assert len(by_run["a"]) == METRICS_KEPT
    assert list(by_run["b"]) == ["\ufffd[31mx"]
    assert parse_scores(text, WAYS, dropped=7).dropped == 7


def test_as_the_real_head_prints_them(tmp_path: Path) -> None:
    for name, body in (("a", '{"psnr": 1}'), ("b", '{"psnr": 2}\n'), ("c", "x" * 2 * FILE_BYTES)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "best_metrics.json").write_text(body)
    paths = sorted(map(str, tmp_path.glob("*/best_metrics.json")))
    text = subprocess.run(
        ["head", "-c", str(FILE_BYTES), "--", "/dev/null", *paths], capture_output=True, check=True
    ).stdout
    way = (f"{tmp_path}/{{cell}}/best_metrics.json",)
    assert parse_scores(text, way).by_run == {"a": {"psnr": 1.0}, "b": {"psnr": 2.0}}


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_break_it(data: bytes) -> None:
    parse_scores(data, WAYS)
    parse_scores(b"==> /fs/a/best_metrics.json <==\n" + data, WAYS)
