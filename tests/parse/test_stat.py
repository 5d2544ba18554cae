"""stat's lines, told by the patterns that were asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.parse.stat import FARTHEST, parse_files

TEXT = b"""11 100 1763700000 /root/q/queue 1.txt
12 200 1763700001 /root/runs/logs/baseline.log
13 300 1763700002 /root/final/no_aug/best.pth
14 1 1763700002 /root/final/a/b/best.pth
15 1 1763700002 /etc/passwd
stat: cannot statx '/root/x': No such file or directory
"""


def test_files_are_found_under_the_spelling_they_were_asked_by():
    patterns = ("/root/q/queue 1.txt", "/root/runs/logs/{cell}.log", "~/final/{cell}/best.pth")
    found = parse_files(TEXT, patterns, "/root").found
    assert set(found) == {
        "/root/q/queue 1.txt",
        "/root/runs/logs/baseline.log",
        "~/final/no_aug/best.pth",
    }
    log = found["/root/runs/logs/baseline.log"]
    assert (log.inode, log.size, log.mtime) == (12, 200, 1763700001.0)


def test_a_checkpoint_of_any_name_is_a_sign_of_life_of_its_directory_and_no_file_that_was_asked_for():
    text = b"""1 10 100 /root/final/a/best.pth
2 10 130 /root/final/a/latest.pth
3 10 120 /root/final/a/ckpts/epoch.pt
4 10 140 /root/final/loose.pth
5 10 150 /root/runs/b/checkpoint-10
6 10 160 /root/elsewhere/c/latest.pth
"""
    table = parse_files(text, ("~/final/{cell}/best.pth",), "/root", ("~/final", "/root/runs"))
    assert set(table.found) == {"~/final/a/best.pth"}
    assert {name: stat.mtime for name, stat in table.signs.items()} == {"a": 130.0, "b": 150.0}


def test_a_file_is_there_whatever_its_time():
    text = b"1 10 -11644473600 /a/x.log\n2 20 18446744073709551615 /a/y.log\n"
    found = parse_files(text, ("/a/{cell}.log",)).found
    assert [file.mtime for file in found.values()] == [0.0, FARTHEST]


def test_nothing_found_is_an_empty_table():
    assert parse_files(b"", ("/a/{cell}",), None).found == {}


@given(st.binary(max_size=300))
def test_only_what_was_asked_can_be_found(text):
    for path in parse_files(text, ("/a/{cell}.log",), "/root").found:
        assert path.startswith("/a/")
        assert "/" not in path[3:]
