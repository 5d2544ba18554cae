"""The user's triage rules add, replace and disable rules; a faulty one does not affect the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpu_tui import user_rules
from gpu_tui.parse.triage import timed
from gpu_tui.parse.triage.classify import Classifier
from gpu_tui.parse.triage.rule_set import bundled
from gpu_tui.places import rules_dir

RUN = [
    sys.executable,
    "-c",
    "import sys; from gpu_tui.cli.main import main; sys.exit(main())",
    "triage",
]
OWN = """\
[[rule]]
id = "quux.melted"
label = "hardware"
severity = "fatal"
literals = ["quux melted"]
pattern = '''\\bquux melted\\b'''
unless = ['''on purpose''']
matches = [
  { line = "12:00 the quux melted", source = "our logs" },
  { line = "quux melted, stop", source = "our logs" },
]
rejects = [{ line = "quux melted on purpose", source = "our logs" }]
"""


# Each word is ten times as long as the one before.
BOMB = "[words]\nA0 = 'aaaaaaaaaa'\n" + "".join(
    f"A{n} = '{f'%{{A{n - 1}}}' * 10}'\n" for n in range(1, 12)
)


def write(tmp_path: Path, **files: str) -> dict[str, str]:
    """The environment of a user with these files in triage.d."""
    directory = tmp_path / "gpu-tui" / "triage.d"
    directory.mkdir(parents=True)
    for name, text in files.items():
        (directory / f"{name}.toml").write_text(text)
    return {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}


def run(env: dict[str, str], *flags: str, raw: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *flags], input=raw, capture_output=True, text=True, timeout=60, check=False, env=env
    )


def label(rules: user_rules.Loaded, line: str) -> str | None:
    mark = Classifier(rules.rules).cause(line)
    return mark.label if mark else None


def test_own_rule_is_asked_before_the_bundled_ones(tmp_path: Path) -> None:
    loaded = user_rules.load(write(tmp_path, mine=OWN))
    assert loaded.complaints == ()
    assert loaded.rules.rules[0].id == "quux.melted"
    assert label(loaded, "RuntimeError: quux melted") == "hardware"
    assert label(loaded, "RuntimeError: quux melted on purpose") == "exception"


def test_own_rule_with_a_bundled_id_replaces_that_rule(tmp_path: Path) -> None:
    place, replaced = next(
        (place, rule) for place, rule in enumerate(bundled().rules) if rule.label == "xid"
    )
    loaded = user_rules.load(write(tmp_path, mine=OWN.replace("quux.melted", replaced.id)))
    assert loaded.rules.rules[place].label == "hardware"
    assert len(loaded.rules.rules) == len(bundled().rules)


def test_disabled_rule_is_removed_and_an_unknown_id_reported(tmp_path: Path) -> None:
    name = bundled().rules[-1].id
    text = f'[[rule]]\nid = "{name}"\ndisable = true\n[[rule]]\nid = "no.such"\ndisable = true\n'
    loaded = user_rules.load(write(tmp_path, mine=text))
    assert name not in {rule.id for rule in loaded.rules.rules}
    (complaint,) = loaded.complaints
    assert "no.such" in complaint


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("[[rule]]\nid = 'a\n", 2, ""),
        ("\n\n[[rule]]\nid = 'a'\nlabel = 'oom'\n", 3, "label 'oom'"),
        (OWN.replace("melted\\b", "melted("), 1, "pattern"),
        (OWN.replace("'''\\bquux melted\\b'''", "'''(a|aa)+(?=!)x'''"), 1, "10 ms"),
        (OWN.replace("severity", "level"), 1, "unknown key 'level'"),
        (OWN.replace('["quux melted"]', '["code 7"]'), 1, "literal 'code 7'"),
        (OWN.replace("quux melted\\b", "%{NONE}"), 1, "%{NONE} is not defined"),
        (OWN.replace('"fatal"', '["fatal"]'), 1, "severity ['fatal'] is none of"),
        (OWN.replace('["quux melted"]', "[]"), 1, "literals are missing"),
        (OWN.replace('"quux melted"]', '"quux\\nmelted"]'), 1, "a line break"),
        ("[[rule]]\nid = 'a'\ndisable = 'true'\n", 1, "disable is true or false"),
        ("[words]\n'a-b' = 'x'\n", 2, "word 'a-b'"),
        ("[words]\nA = 7\n", 2, "word A is not a string"),
        (BOMB, 5, "more than 8192 characters"),
        (OWN.replace("quux melted\\b", "a|" * 5_000 + "b"), 1, "more than 8192 characters"),
    ],
)
def test_faulty_rule_is_skipped_and_reported_with_file_and_line(
    text: str, line: int, why: str, tmp_path: Path
) -> None:
    env = write(tmp_path, bad=text, good=OWN)
    loaded = user_rules.load(env)
    assert [rule.id for rule in loaded.rules.rules[:1]] == ["quux.melted"]
    assert loaded.rules.rules[1:] == bundled().rules
    (complaint,) = loaded.complaints
    assert complaint.startswith(f"{tmp_path}/gpu-tui/triage.d/bad.toml:{line}: ")
    assert why in complaint


@pytest.mark.parametrize("text", ["a = " + "[" * 50_000, "a = " + "1" * 5_000])
def test_file_that_the_toml_parser_fails_on_is_skipped(text: str, tmp_path: Path) -> None:
    loaded = user_rules.load(write(tmp_path, bad=text))
    assert loaded.rules.rules == bundled().rules
    (complaint,) = loaded.complaints
    assert "bad.toml: is no usable TOML" in complaint


def test_pipes_and_hidden_files_are_not_read(tmp_path: Path) -> None:
    env = write(tmp_path, mine=OWN)
    directory = rules_dir(env)
    os.mkfifo(directory / "pipe.toml")
    (directory / ".#mine.toml").symlink_to("somebody@somewhere.1")  # as Emacs locks a file
    loaded = user_rules.load(env)
    assert loaded.rules.rules[0].id == "quux.melted"
    (complaint,) = loaded.complaints
    assert "pipe.toml: cannot be read: it is a pipe" in complaint


def test_triage_d_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "gpu-tui").mkdir()
    (tmp_path / "gpu-tui" / "triage.d").write_text(OWN)
    (complaint,) = user_rules.complaints({"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)})
    assert "triage.d: cannot be read: Not a directory" in complaint


@pytest.mark.parametrize("files", [{"a": OWN + OWN}, {"a": OWN, "b": OWN}])
def test_first_of_two_rules_with_one_id_is_reported(files: dict[str, str], tmp_path: Path) -> None:
    loaded = user_rules.load(write(tmp_path, **files))
    (complaint,) = loaded.complaints
    assert "a.toml:1: rule quux.melted comes again in " in complaint


def test_own_rule_that_is_disabled_is_reported(tmp_path: Path) -> None:
    text = OWN + "[[rule]]\nid = 'quux.melted'\ndisable = true\n"
    loaded = user_rules.load(write(tmp_path, a=text))
    assert loaded.rules.rules == bundled().rules
    (complaint,) = loaded.complaints
    assert "a.toml:1: rule quux.melted is disabled in " in complaint


def test_number_of_files_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_rules, "MAX_FILES", 1)
    loaded = user_rules.load(write(tmp_path, a=OWN, b=OWN))
    (complaint,) = loaded.complaints
    assert "b.toml: more than 1 files" in complaint


def test_rules_beyond_the_limit_are_not_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_rules, "MAX_RULES", 2)
    made: list[str] = []
    real = timed.TimedPattern.__init__

    def count(self: timed.TimedPattern, *args: Any) -> None:
        made.append(args[0])
        real(self, *args)

    monkeypatch.setattr(timed.TimedPattern, "__init__", count)
    many = "".join(OWN.replace("quux.melted", f"quux.{letter}") for letter in "abcd")
    user_rules.load(write(tmp_path, many=many))
    assert len(made) == 2 * 2  # a pattern and a look-alike of each


def test_case_of_a_literal_is_ignored_outside_of_ascii(tmp_path: Path) -> None:
    text = OWN.replace('"quux melted"]', '"Ошибка"]').replace("\\bquux melted\\b", "ошибка")
    loaded = user_rules.load(write(tmp_path, mine=text))
    assert [label(loaded, line) for line in ("ошибка", "Ошибка", "ОШИБКА")] == ["hardware"] * 3


def test_pattern_is_not_disabled_for_the_time_of_other_threads(tmp_path: Path) -> None:
    """The limit of `regex` counts the processor time of all threads."""
    loaded = user_rules.load(write(tmp_path, mine=OWN))
    pattern = loaded.rules.rules[0].pattern
    assert isinstance(pattern, timed.TimedPattern)
    real, late = pattern._compiled, [True]

    class Busy:
        def search(self, text: str, timeout: float) -> object:
            if late:
                late.pop()
                raise TimeoutError
            return real.search(text, timeout=timeout)

    pattern._compiled = Busy()  # type: ignore[assignment]
    assert label(loaded, "the quux melted") == "hardware"
    assert loaded.slow_patterns == []


def test_slow_pattern_is_disabled_and_reported(tmp_path: Path) -> None:
    slow = OWN.replace("'''\\bquux melted\\b'''", "'''quux (?:z+)+!'''")
    loaded = user_rules.load(write(tmp_path, slow=slow))
    judge = Classifier(loaded.rules)
    assert judge.cause("quux melted " + "quux " + "z" * 3_000) is None
    assert loaded.complaints == ()
    (complaint,) = loaded.slow_patterns
    assert "is disabled: quux (?:z+)+!" in complaint


def test_number_of_reported_mistakes_is_limited(tmp_path: Path) -> None:
    wrong = OWN.replace("severity", "level")
    loaded = user_rules.load(write(tmp_path, bad=wrong * (user_rules.MAX_COMPLAINTS + 7)))
    assert len(loaded.complaints) == user_rules.MAX_COMPLAINTS + 1
    assert loaded.complaints[-1] == f"{tmp_path}/gpu-tui/triage.d: 7 more mistakes"


def test_number_of_own_rules_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_rules, "MAX_RULES", 2)
    text = "".join(OWN.replace("quux.melted", f"quux.{n}") for n in range(4))
    loaded = user_rules.load(write(tmp_path, many=text))
    assert len(loaded.rules.rules) == len(bundled().rules) + 2
    (complaint,) = loaded.complaints
    assert "more than 2 rules" in complaint


def test_triage_command_uses_own_rules_and_reports_faults(tmp_path: Path) -> None:
    env = write(tmp_path, mine=OWN, bad="x = 1\n")
    done = run(env, "--json", raw="the quux melted\n")
    assert json.loads(done.stdout)["kind"] == "hardware"
    assert "bad.toml: unknown table 'x'" in done.stderr
    assert done.returncode == 1


def test_triage_command_reports_a_disabled_pattern(tmp_path: Path) -> None:
    slow = OWN.replace("'''\\bquux melted\\b'''", "'''quux (?:z+)+!'''")
    done = run(write(tmp_path, slow=slow), raw="quux melted quux " + "z" * 3_000 + "\n")
    assert "slow.toml: a pattern took more than 20 ms on a line and is disabled" in done.stderr


def test_rules_flag_lists_own_rules(tmp_path: Path) -> None:
    env = write(tmp_path, mine=OWN)
    rows = json.loads(run(env, "--rules", "--json").stdout)
    assert rows[0] == {
        "id": "quux.melted",
        "label": "hardware",
        "severity": "fatal",
        "file": f"{tmp_path}/gpu-tui/triage.d/mine.toml",
        "literals": ["quux melted"],
        "matches": 2,
        "rejects": 1,
    }
    assert len(rows) == len(bundled().rules) + 1
    assert "mine.toml:1" in run(env, "--rules").stdout.splitlines()[0]


def test_explain_names_the_rule_that_decides_and_the_excluded_one(tmp_path: Path) -> None:
    env = write(tmp_path, mine=OWN)
    done = run(env, "--explain", "the quux melted")
    assert done.returncode == 1
    assert "hardware (fatal, an alarm)" in done.stdout
    assert f"decided by quux.melted ({tmp_path}/gpu-tui/triage.d/mine.toml:1)" in done.stdout
    done = run(env, "--explain", raw="quux melted on purpose\nepoch 1/2 loss 0.5\n")
    assert done.returncode == 0
    assert "not quux.melted" in done.stdout
    assert "its unless matches on purpose" in done.stdout
    assert "progress (" in done.stdout


def test_check_runs_the_samples_of_a_file(tmp_path: Path) -> None:
    env = write(tmp_path, mine=OWN)
    file = tmp_path / "gpu-tui" / "triage.d" / "mine.toml"
    done = run(env, "--check", str(file))
    assert (done.returncode, done.stdout) == (0, "1 rule, 3 samples, 0 failed\n")
    file.write_text(OWN.replace("on purpose", "by design", 1))
    done = run(env, "--check", str(file))
    assert done.returncode == 1
    assert (
        f"{file}:1: quux.melted fits a line of its rejects: quux melted on purpose" in done.stdout
    )
    file.write_text("[[rule]\n")
    assert run(env, "--check", str(file)).returncode == 2
    done = run(env, "--check", str(tmp_path / "none.toml"))
    assert done.returncode == 2
    assert "cannot be read: No such file" in done.stderr


def test_check_judges_samples_as_triage_judges_lines(tmp_path: Path) -> None:
    """After a logger's prefix too, but not in a row of df, which is judged before any rule."""
    text = OWN.replace("\\bquux melted\\b", "^quux melted|melted .*% /")
    text = text.replace("12:00 the quux melted", "2024-01-01 10:00:00,000 ERROR quux melted")
    env = write(tmp_path, mine=text)
    file = rules_dir(env) / "mine.toml"
    done = run(env, "--check", str(file))
    assert (done.returncode, done.stdout) == (0, "1 rule, 3 samples, 0 failed\n")
    file.write_text(text.replace("quux melted, stop", "the quux melted 9G 9G 0 100% /data"))
    assert run(env, "--check", str(file)).returncode == 1


def test_long_line_is_explained_as_it_is_judged(tmp_path: Path) -> None:
    env = write(tmp_path, mine=OWN.replace("\\bquux melted\\b", "^x{9000}quux melted"))
    line = "x" * 9_000 + "quux melted" + "x" * 9_000
    assert json.loads(run(env, "--json", raw=line + "\n").stdout)["kind"] is None
    done = run(env, "--explain", raw=line + "\n")
    assert "no alarm" in done.stdout
    assert "no rule decides" in done.stdout


@pytest.mark.parametrize("prefix", ["[rank0]: ", "2024-01-01 10:00:00,000 ERROR "])
def test_explain_shows_the_text_that_the_rule_is_asked_about(prefix: str, tmp_path: Path) -> None:
    env = write(tmp_path, mine=OWN.replace("\\bquux melted\\b", "^quux melted$"))
    done = run(env, "--explain", f"{prefix}quux melted")
    assert "decided by quux.melted" in done.stdout
    assert "read as: quux melted\n" in done.stdout
