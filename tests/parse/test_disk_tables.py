"""Rows of `df`: volumes full in bytes or in inodes are alarms; read-only mounts are always full and no alarm."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage.classify import triage


@pytest.mark.parametrize(
    ("row", "label", "alarm"),
    [
        ("/dev/sda1        40G   40G     0 100% /", "disk_full", True),
        ("[rank0]: /dev/sda1  ext4  58G   57G  1.4G  98% /data", "disk_full", True),
        ("/dev/sda1      1000000  999950     50  100% /", "inode", True),
        ("rpool/home-hdd   11T   11T   72G 100% /home-hdd", "disk_full", True),
        ("tmpfs            30M   30M     0 100% /run/m", "disk_full", True),
        ("/dev/sda1        40G   10G   30G  26% /", "benign", False),
        ("/dev/loop3       56M   56M     0 100% /snap/core18/1", "benign", False),
    ],
)
def test_row_of_df_is_judged_by_its_usage(row: str, label: str, alarm: bool) -> None:
    mark = triage(row)
    assert (mark.label, mark.alarm) == (label, alarm)
