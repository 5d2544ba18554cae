"""简体中文: the catalogue is whole, holds nothing that nobody says, and every screen is drawn in it as it is in English."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from spoken import PACKAGE, PARTS, SPEAKERS, errors, fields, pieces, said, sentences, tables

from gpu_tui.cli.help import PAGES, TOPICS
from gpu_tui.cli.main import main
from gpu_tui.core.anchors import NO_DATE
from gpu_tui.core.bounds import Span
from gpu_tui.core.campaign import Lane, LaneOutlook, Tally
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Instance, ProviderAccess, SshAccess
from gpu_tui.core.left_queue import LEFT, NO_CODE, NO_END
from gpu_tui.core.speech import Catalogue, quoted, say, speak, told
from gpu_tui.core.sweep import CellState
from gpu_tui.core.vanished import COUNTED, GONE, NO_MORE, UNLISTED, WENT_ON, WRITES
from gpu_tui.language import NoLanguage, catalogue, choose, of_locale, speak_in
from gpu_tui.providers.manual import BESIDE, Manual
from gpu_tui.resources import load_profiles
from gpu_tui.transport.base import STEPS, LinkError
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.text.filters import Filter, FilterError
from gpu_tui.ui.text.outlook import COLUMNS as LANES
from gpu_tui.ui.text.survival import choices, find_choice, spoken
from gpu_tui.ui.text.sweep import queue_note, state_words, totals
from gpu_tui.ui.widgets.paint import Block, OneLine
from screenshots.builders import NOW, cell, finding
from screenshots.render import SIZES, VIEWS
from screenshots.scenes import sweep

Make = Callable[..., CockpitApp]
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture
def chinese() -> Iterator[None]:
    speak_in("zh")
    yield
    speak(Catalogue())


# --- the catalogue ----------------------------------------------------------------------------


def test_everything_that_is_said_is_in_the_catalogue() -> None:
    words = catalogue("zh")
    known = {**words.screen, **words.sentences}
    missing = {text for text in {*said(), *tables()} - PARTS if text not in known}
    assert not {text for text in missing if re.search(r"[A-Za-z]{2}", text)}


def test_the_words_that_no_rule_finds_are_there_too() -> None:
    words = catalogue("zh")
    known = {**words.screen, **words.sentences}
    assert not {part for part in PARTS if part not in known}


def test_a_translation_fills_in_the_same_fields() -> None:
    words = catalogue("zh")
    for template, other in {**words.screen, **words.sentences}.items():
        assert fields(template) == fields(other), template


def test_the_fields_are_those_that_are_given() -> None:
    for template, given in said().items():
        if given is not None:
            assert set(fields(template)) <= given, template


def test_the_catalogue_holds_nothing_that_nobody_says() -> None:
    words = catalogue("zh")
    spoken = {*said(), *tables(), *PARTS}
    source = pieces()
    for text in words.screen:
        assert text in spoken or f"\0{text}\0" in source, text
    for template in words.sentences:
        for literal, *_ in string.Formatter().parse(template):
            part = literal.strip(" :;,.()“”")
            assert part in source or part.partition(":")[0] in source, (template, part)


def test_every_disk_and_verb_of_the_bundled_profiles_has_a_name_and_nothing_else_has(
    chinese: None,
) -> None:
    words = catalogue("zh")
    known = {**words.screen, **words.sentences, **words.names}
    profiles = load_profiles().values()
    called = {tier.label or tier.id for profile in profiles for tier in profile.storage}
    called |= {verb.label for profile in profiles for verb in profile.teardown}
    kinds = {profile.kind for profile in profiles}
    same = {"NAS", "Google Drive", "kubernetes", "slurm"}
    assert called | kinds <= set(known) | same
    steps = {step for profile in profiles for verb in profile.teardown for step in verb.steps}
    bare = {step for step in steps if step.startswith("kubectl ") and " then " not in step}
    assert steps - set(known) == bare  # a command has no language
    assert set(words.names) <= called | kinds | steps


def test_facts_of_a_platform_are_quoted_where_they_are_not_told(chinese: None) -> None:
    assert quoted("Automatic payment, or a pull.") == "“Automatic payment, or a pull.”"
    assert quoted("data disk") == "数据盘"
    assert told("bills a paid data disk, every day") == "计费 “a paid data disk, every day”"
    assert told("loses system disk, data disk") == "丢失 系统盘、数据盘"
    assert told("lost: data disk (/root/autodl-tmp)") == "丢失：数据盘 (/root/autodl-tmp)"
    assert told("release (destroy): cannot be undone; by the provider's API").startswith(
        "释放（销毁）：不可恢复；"
    )
    speak(Catalogue())
    assert quoted("Automatic payment, or a pull.") == "Automatic payment, or a pull."


# A comma, semicolon or colon of ASCII that belongs to Chinese words.
FOREIGN = re.compile(r"[\u4e00-\u9fff）”][,;:](?= |$|[\u4e00-\u9fff])|[,;] ?[\u4e00-\u9fff（“]")


def foreign(text: str) -> list[str]:
    """What a Chinese typesetter would mark."""
    return [text[max(0, one.start() - 8) : one.end() + 8] for one in FOREIGN.finditer(text)]


def test_chinese_words_have_chinese_punctuation_between_them() -> None:
    assert foreign("系统盘, 数据盘")
    assert foreign("关机: 删除")
    assert not foreign("loss 0.2, psnr 28：好")
    words = catalogue("zh")
    for other in (*words.screen.values(), *words.sentences.values(), *words.names.values()):
        assert not foreign(re.sub("`.*?`", "", other)), other  # what is typed keeps its own


# Where a misunderstanding costs most, and what the screen shows of the rooms below it.
ROOMS = (
    "core/gate.py",
    "core/proof.py",
    "core/waiver.py",
    "teardown/words.py",
    "teardown/words_next.py",
    "teardown/words_plan.py",
    "core/cause.py",
)
# Not for the screen: a permit that is misused is a bug, a phrase is typed as it is.
NEVER = (
    "only the gate mints", "this permit", "a permit cannot", "no plan was seen", "x7 came while",
    "abandon x7 files", "the journal's intent", " came while ",
)  # fmt: skip
FRAGMENTS = (
    ", and what stays",
    ", and x7/h for what",
    "x7/h after it, for the disk",
    "best_metrics.json",
    "PULL_MANIFEST.json",
    "PULL_VERIFIED.json",
    "a file without a name",
)


@pytest.mark.parametrize("room", ROOMS)
def test_every_sentence_of_the_ladder_is_told(room: str, chinese: None) -> None:
    for sentence in sentences(room):
        if not sentence.startswith((*NEVER, *FRAGMENTS)):
            assert CHINESE.search(told(sentence)), sentence


NOTES = {
    "collect/tail.py": " was ",
    "collect/pod_logs.py": ": the last lines",
    "recording/scout.py": " is not understood",
    "recording/player.py": "the recording is not whole",
    "teardown/ends.py": "the teardown journal",
    "wiring/fleet.py": " was read again",
}


@pytest.mark.parametrize("what", ["brings no answer", "ended before the login was done"])
def test_what_a_proxy_command_said_stands_in_a_chinese_sentence(what: str, chinese: None) -> None:
    text = told(f"the ProxyCommand on the way to h:22 {what}: connection refused")
    assert re.fullmatch(r"去 h:22 路上的 ProxyCommand \S+：connection refused", text)


JUMP = {
    "10.0.0.2:22 refuses the connection": "跳板机 hop：10.0.0.2:22 拒绝连接",
    "10.0.0.2:22 does not answer": "跳板机 hop：10.0.0.2:22 没有回应",
    "the host key of h is unknown: it shows k": "跳板机 hop：不认识 h 的主机密钥：它是 k",
    "u@h accepts none of our keys (tried a)": "跳板机 hop：u@h 不接受我们的任何密钥（试过 a）",
    "the jump host near cannot reach 10.0.0.2:22: no": "跳板机 near 连不到跳板机 hop（10.0.0.2:22）：no",
}


@pytest.mark.parametrize(("text", "other"), JUMP.items())
def test_a_jump_host_is_named_in_a_chinese_sentence(text: str, other: str, chinese: None) -> None:
    error = LinkError(text)
    error.met_at("hop", "10.0.0.2:22")
    assert told(str(error)).replace(" 跳板机 hop（", "跳板机 hop（") == other


def test_the_steps_for_a_jump_host_are_told(chinese: None) -> None:
    for _, step in STEPS:
        assert CHINESE.search(told(f"{step}x7" if step.endswith(": ") else step)), step


@pytest.mark.parametrize(("room", "part"), NOTES.items())
def test_a_note_is_told(room: str, part: str, chinese: None) -> None:
    found = [text for text in sentences(room) if part in text]
    assert found
    for text in found:
        whole = f"x7 {text}" if room == "collect/tail.py" else text
        assert CHINESE.search(told(whole.replace("{}", "x7"))), whole


async def test_the_screen_tells_a_note_in_chinese(cockpit: Make, chinese: None) -> None:
    store = VIEWS["cockpit"][0]()
    app = cockpit(store)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        store.become(replace(store.fleet, notes=("fleet.yaml was read again",)))
        app._tick()
        await pilot.pause()
        assert "fleet.yaml 已重新读取" in [toast.message for toast in app._notifications]


async def test_a_sweep_without_a_name_and_the_kind_of_a_finding_are_chinese(
    cockpit: Make, chinese: None, text_of: Callable[[CockpitApp], str]
) -> None:
    store = VIEWS["cockpit"][0]()
    box = store.fleet.instances[0]
    seen = finding("disk_full", Severity.FATAL, box.name, "it is full", "df:/root", ago=1)
    store.become(replace(store.fleet, sweep=None, instances=(replace(box, findings=(seen,)),)))
    app = cockpit(store)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("S")
        await pilot.pause()
        assert "未命名" in text_of(app)
        await pilot.press("escape", "e")
        await pilot.pause()
        assert any("磁盘满 来自 df:/root" in toast.message for toast in app._notifications)


async def test_where_no_alarm_is_left_is_said_in_chinese(cockpit: Make, chinese: None) -> None:
    app = cockpit(VIEWS["cockpit"][0]())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("5", *"nnnnnnnn")
        await pilot.pause()
        assert "下面没有更多告警" in [toast.message for toast in app._notifications]


# Errors that stay English: a profile is written in English, and the rest is no person's to read.
AUTHORS = (
    "parse/profile_md.py", "parse/profile_rows.py", "core/gate.py",
    "recording/codec.py", "demo/files.py", "collect/watched.py",
)  # fmt: skip
# Sentences whose subject or end is filled in, so that the whole of them is another one; and bare commands.
WHOLE = (
    "the API refused (x7)x7", "x7 cannot be x7: x7",
    "another box answers", "x7 refused it", "x7 cannot be reached", "ssh-add x7", "gpu-tui journal x7",
)  # fmt: skip


def test_the_steps_for_a_console_are_told(chinese: None) -> None:
    """They are the last that a person reads before the meter stops."""
    for named in ({"id": "x9"}, {"id": None}):
        instance = Instance("box", SshAccess("h", port=123), "x7", provider=ProviderAccess(**named))
        for step in Manual(instance, None, ManualClock()).steps("end"):
            assert CHINESE.search(told(step)), step
    for step in (step for steps in BESIDE.values() for step in steps):
        assert CHINESE.search(told(step)), step


def test_every_error_is_told(chinese: None) -> None:
    found = [(file, text) for file, text in errors() if file not in AUTHORS]
    assert len(found) > 400
    for file, text in found:
        if len(re.findall(r"[A-Za-z]{2,}", text.replace("x7", ""))) > 1:
            told_well = CHINESE.search(told(text, own=True)) or text.startswith(WHOLE)
            assert told_well, (file, text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["doctro"], ["没有命令 'doctro'", "是不是 `gpu-tui doctor`？"]),
        (["check", "--fleet", "/nonexistent/f.yaml"], ["--fleet 指定了 /nonexistent/f.yaml", "gpu-tui init"]),
        (["check", "--limit", "soon"], ["参数 --limit：'soon' 不是可等待的时长：写成 30 或 2m"]),
        (["verify"], ["缺少参数：DIR"]),
        (["triage", "/nonexistent/log"], ["无法读取 /nonexistent/log：没有这个文件或目录"]),
    ],
)  # fmt: skip
def test_an_error_on_stderr_is_told(
    words: list[str], said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        assert main([*words, "--language", "zh"]) in (2, 64)
    finally:
        speak(Catalogue())
    out, err = capsys.readouterr()
    assert not out
    for text in said:
        assert text in err


def test_the_place_of_an_error_stands_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("instances:\n  - name: a\n    hots: b\n")
    try:
        assert main(["check", "--json", "--fleet", str(fleet), "--language", "zh"]) == 2
    finally:
        speak(Catalogue())
    out, err = capsys.readouterr()
    assert f"{fleet}:3:5: 一台机器里有不认识的键“hots”" in err
    assert "是不是“host”？" in err
    assert json.loads(out)["error"]["text"] == 'unknown key "hots" in an instance'


def test_parts_of_a_sentence_are_told_and_data_is_not(chinese: None) -> None:
    assert told("not pulled: a/Plan.pt (the disk here is full)").startswith("没有拉回：a/Plan.pt")
    assert (
        told("missing here: best.pth; different: last.pth")
        == "本地缺少：best.pth；不一致：last.pth"
    )
    assert told("running.pth") == "running.pth"
    assert say("a field {stays}") == "a field {stays}"
    hostile = "still at work: {0.__class__} %s \x1b[2J"
    assert told(hostile) == "还在运行：{0.__class__} %s \x1b[2J"


def test_english_is_the_text_itself() -> None:
    assert say("{n:>3} files", n=7) == "  7 files"
    assert told("still at work: x") == "still at work: x"


# --- the source -------------------------------------------------------------------------------

ROOM = PACKAGE / "ui"
TWO_WORDS = re.compile(r"[A-Za-z]{2,}[^A-Za-z]+[A-Za-z]{2,}")
STYLE = re.compile(r"[a-z0-9#.-]+")
APART = {"query", "query_one", "add_class", "sub", "compile", "strftime", "match"}


def unsaid(path: Any) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        chain = [node, *_ancestors(node, above)]
        if not any(isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) for one in chain):
            continue  # a table: it is said row by row
        if isinstance(chain[1], ast.Expr) or not TWO_WORDS.search(node.value):
            continue
        if STYLE.fullmatch(node.value.strip()) or any(_apart(one) for one in chain):
            continue
        yield node.value


def _ancestors(node: ast.AST, above: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in above:
        node = above[node]
        yield node


def _apart(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.Compare | ast.MatchValue):
        return True
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        return name in SPEAKERS or name in APART
    return isinstance(node, ast.keyword) and node.arg in ("id", "classes", "name")


NAMES = {
    "        HostName 203.0.113.5", "    Host my-box", "        User root", "gpu-tui: ",
    "key_env", "gpu_memory", "host_memory", "oom_kill –", "app.choose_theme",
    "the window is too small to show all of the evidence",  # for the journal; the person is told
}  # fmt: skip


@pytest.mark.parametrize("room", ["text", "panes", "screens", "widgets"])
def test_the_screen_says_nothing_past_the_catalogue(room: str) -> None:
    files = [path for path in (ROOM / room).glob("*.py") if path.name != "pattern.py"]
    assert files
    assert not {(path.name, text) for path in files for text in unsaid(path) if text not in NAMES}


# --- the screens ------------------------------------------------------------------------------


SMALL, WIDE = SIZES[0], SIZES[-1]
DRAWN = [(name, SMALL) for name in VIEWS] + [
    (name, WIDE) for name in ("cockpit", "profile", "sweep", "help", "teardown")
]


@pytest.mark.parametrize(("name", "size"), DRAWN, ids=[f"{name}-{size[0]}" for name, size in DRAWN])
async def test_every_view_is_drawn_in_chinese(
    name: str, size: tuple[int, int], cockpit: Make, chinese: None,
    text_of: Callable[[CockpitApp], str],
) -> None:  # fmt: skip
    scene, steps = VIEWS[name]
    app = cockpit(scene())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await steps(pilot, app)
        await pilot.pause()
        text = text_of(app)
    assert CHINESE.search(text)
    assert not foreign(text)
    assert max(map(cell_len, text.splitlines())) <= size[0]
    walls = [cell_len(row) for row in text.splitlines() if row.endswith(("│", "╮", "╯"))]
    assert len(set(walls)) <= 1


@pytest.mark.parametrize(
    ("name", "view"), [("zh-queue", "queue"), ("zh-help", "help"), ("zh-findings", "findings")]
)
async def test_a_chinese_screen_is_the_golden_one(
    name: str, view: str, cockpit: Make, chinese: None, text_of: Callable[[CockpitApp], str],
    golden: Callable[[str, str], None],
) -> None:  # fmt: skip
    scene, steps = VIEWS[view]
    app = cockpit(scene())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await steps(pilot, app)
        await pilot.pause()
        golden(name, text_of(app))


async def test_what_textual_and_the_chart_say_is_chinese_too(
    cockpit: Make, chinese: None, text_of: Callable[[CockpitApp], str]
) -> None:
    app = cockpit(VIEWS["chart"][0]())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("c")
        await pilot.pause()
        assert "现在" in text_of(app)
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert "按名字找动作" in text_of(app)
        await pilot.press("escape", "escape", "E")
        await pilot.pause()
        assert any(row.rstrip().endswith("现在") for row in text_of(app).splitlines())


# --- the choice -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flag", "config", "env", "chosen"),
    [
        (None, None, {}, "en"),
        (None, None, {"LANG": "zh_CN.UTF-8"}, "zh"),
        (None, None, {"LANG": "zh_CN.GB18030"}, "en"),  # its terminal could not draw the rest
        (None, None, {"LANG": "zh_TW.UTF-8"}, "en"),
        (None, None, {"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        (None, None, {"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.utf8"}, "zh"),
        (None, "zh", {"LANG": "en_US.UTF-8"}, "zh"),
        (None, "zh", {}, "zh"),
        ("zh", None, {"LANG": "C"}, "en"),  # it would be question marks
        ("zh", None, {"LANG": "zh_CN.UTF-8", "TERM": "linux"}, "en"),
        ("en", "zh", {"LANG": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_flag_then_settings_then_locale(
    flag: str | None, config: str | None, env: dict[str, str], chosen: str
) -> None:
    assert choose(flag, config, env) == chosen


@pytest.mark.parametrize(
    ("name", "language"),
    [("zh_CN", "zh"), ("zh-CN", "zh"), ("zh_CN.UTF-8", "zh"), ("en_US", "en"), ("zh_TW", "zh_TW")],
)
def test_a_language_may_be_named_as_locales_name_it(name: str, language: str) -> None:
    assert of_locale(name) == language


def test_a_language_that_is_not_there_is_refused() -> None:
    with pytest.raises(NoLanguage, match="'fr'"):
        choose("fr", None, {})


def test_the_flag_speaks_and_records_stay_english(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main(["--language", "zh_CN", "help", "exits"]) == 0
        assert CHINESE.search(capsys.readouterr().out)
        assert main(["--language", "zh_TW", "help", "exits"]) == 64
        capsys.readouterr()
        assert main(["--language", "zh", "help", "exits"]) == 0
        assert CHINESE.search(capsys.readouterr().out)
        assert main(["--language", "zh", "triage", "--json", "/nonexistent"]) == 2
        assert not CHINESE.search(capsys.readouterr().out)
    finally:
        speak(Catalogue())


# --- the manual -------------------------------------------------------------------------------

PAGES_OF = [topic for topic in TOPICS if topic != "keys"]


def examples(text: str) -> list[str]:
    """The lines of a page that are typed or copied: its blocks, and what is indented, without remarks."""
    block = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    typed = re.findall(r"^    \S.*$", text, re.MULTILINE)
    lines = [line for part in (*block, *typed) for line in part.splitlines()]
    return [
        bare
        for line in lines
        if (bare := re.split(r"\s+# |  +[\u4e00-\u9fff]|   +[a-zA-Z]", line.strip())[0].strip())
    ]


@pytest.mark.parametrize("topic", PAGES_OF)
def test_every_page_is_there_in_chinese_with_the_same_examples(topic: str) -> None:
    english = (PAGES / f"{topic}.md").read_text("utf-8")
    chinese = (PAGES / "zh" / f"{topic}.md").read_text("utf-8")
    assert chinese.startswith("# ")
    assert CHINESE.search(chinese)
    assert max(map(cell_len, chinese.splitlines())) <= 112
    typed = [line for line in examples(chinese) if not line.startswith("language:")]
    assert typed == [line for line in examples(english) if not line.startswith("language:")]


def test_verbs_and_the_titles_of_toasts_are_chinese(chinese: None) -> None:
    for profile in load_profiles().values():
        names = [spoken(choice.verb) for choice in choices(profile)]
        assert all(CHINESE.search(name) for name in names), (profile.id, names)
        for number, choice in enumerate(choices(profile)):
            assert find_choice(profile, choice.verb.verb) is not None
            if names.count(spoken(choice.verb)) == 1:
                assert find_choice(profile, spoken(choice.verb)) == number
    assert CHINESE.search(say("cell finished"))
    assert CHINESE.search(say("sweep finished"))


def test_why_a_queue_tells_no_end_and_what_a_list_says_are_chinese(chinese: None) -> None:
    box = next(one for one in sweep().view(NOW).instances if one.queue.running is not None)
    lane = LaneOutlook(
        Lane(box.name, box.queue),
        Tally({CellState.RUNNING: 1}),
        Span(),
        None,
        None,
        "no_aug tells no end",
    )
    text = "".join(row.plain for row in totals(box, lane, UTC, 160))
    assert "no_aug 说不出结束时间" in text
    assert told("2 jobs run by the list of what runs it, yet nothing moved for 5 min") == (
        "执行器的列表里有 2 个任务在跑，但 5 分 没有动静"
    )


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("why", "other"),
    [
        (f"gone: {GONE}", "已不在：它的进程不见了，没有任何记录说明它怎样结束"),
        (f"gone: {NO_MORE}", "已不在：列表里已没有它，之后还没有读过进程表"),
        (f"gone: {GONE}; {WENT_ON}b", "已不在：它的进程不见了，没有任何记录说明它怎样结束；启动它的脚本已接着跑 b"),
        (f"gone: {WRITES}b", "已不在：它的程序已接着跑 b"),
        ("running: python with its output in soak.log", "运行中：python，输出写到 soak.log"),
        (NO_DATE, "日期未知；知道后请标记"),
        ("bills the price, day and night; nothing reclaims it", "计费 “the price, day and night; nothing reclaims it”"),
        ("python with its output to a pipe", "python，输出到管道"),
        (f"running: {UNLISTED}", "运行中：列表里已没有它，但它的进程还在"),
        ("log: its log ends with: Killed", "日志：日志末尾：Killed"),
        (f"{LEFT}: its log ends with: Killed", "在两次检查之间离开了队列：日志末尾：Killed"),
        (
            f"{LEFT}: {NO_END}; it ran when it was last listed at 2026-11-18 11:06 UTC; its log is not known",
            "在两次检查之间离开了队列：没有任何记录说明它怎样结束；最后一次列出时（2026-11-18 11:06 UTC）还在跑；不知道它的日志在哪里",
        ),
        (
            f"{LEFT} at epoch 3 of 40: {NO_END}; it ran when it was last listed at 11:06 UTC",
            "在第 3/40 轮、两次检查之间离开了队列：没有任何记录说明它怎样结束；最后一次列出时（11:06 UTC）还在跑",
        ),
        (f"{LEFT}: {COUNTED}; {NO_CODE}", "在两次检查之间离开了队列：只凭它的日志：计数走到了头；没有任何记录说明它的退出码"),
        ("log: its log says, above its last reports: Killed", "日志：日志在最后的进度之前写着：Killed"),
    ],
)  # fmt: skip
def test_what_became_of_a_job_that_is_gone_is_told(why: str, other: str) -> None:
    assert told(why) == other


def test_no_word_has_two_translations() -> None:
    spoken = catalogue("zh")
    parts = (spoken.screen, spoken.sentences, spoken.names)
    for one, other in combinations(parts, 2):
        assert {key for key in one.keys() & other.keys() if one[key] != other[key]} == set()


@pytest.mark.usefixtures("chinese")
def test_why_there_is_no_queue_is_told() -> None:
    view = sweep().fleet.instances[0]
    idle = replace(
        view,
        queue=replace(view.queue, cells=()),
        instance=replace(view.instance, scheduler="slurm"),
        because=("slurm lists no job",),
    )
    assert CHINESE.search(queue_note(idle).plain)


@pytest.mark.parametrize(
    ("wrong", "other"),
    [
        ("/t/a.toml:3: unknown key 'x' (the rule is left out)", "/t/a.toml:3：不认识的键 'x'（不使用这条规则）"),
        (
            "/t/a.toml:3: severity 'bad' is none of fatal, serious, warn, none (the rule is left out)",
            "/t/a.toml:3：严重程度 'bad' 不在其中：fatal、serious、warn、none（不使用这条规则）",
        ),
        ("/t/a.toml:3: literals is not a list (the rule is left out)", "/t/a.toml:3: literals 不是列表（不使用这条规则）"),
        ("/t/a.toml: cannot be read: No such file or directory (the file is left out)", "/t/a.toml: 无法读取：没有这个文件或目录（不使用这个文件）"),
        ("/t: there is no rule a.b to disable", "/t：没有可停用的规则 a.b"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("chinese")
def test_faults_of_own_triage_rules_are_translated(wrong: str, other: str) -> None:
    assert told(wrong) == other


@pytest.mark.usefixtures("chinese")
def test_what_is_wrong_with_a_filter_is_told() -> None:
    with pytest.raises(FilterError, match="：不是正则表达式"):
        Filter("/(/")
    with pytest.raises(FilterError, match="不认识"):
        Filter(r"/\Aloss/").terms()


@pytest.mark.usefixtures("chinese")
async def test_why_a_log_cannot_be_followed_is_told(cockpit: Make) -> None:
    store = sweep()
    first, *rest = store.fleet.instances
    error = "the box did not answer in full"
    logs = tuple(replace(log, error=error) for log in first.logs)
    store.become(replace(store.fleet, instances=(replace(first, logs=logs), *rest)))
    app = cockpit(store)
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        said = "".join(row.plain for row in app.screen.query_one("#remedy", Block).lines)
        assert "机器没有完整回应" in said


@pytest.mark.usefixtures("chinese")
async def test_what_space_does_in_a_paused_log_is_chinese(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("5", "space")
        await pilot.pause()
        assert "space 跟随" in app.screen.query_one("#footer", OneLine).line.plain


def test_a_cell_is_found_by_the_words_that_stand_there(chinese: None) -> None:
    said = state_words(cell(1, "a", CellState.SYNC_FAILED))
    assert Filter("sync-failed").keeps(said)
    assert Filter("/sync failed/").keeps(said)
    assert Filter("同步失败").keeps(said)
    still = state_words(cell(1, "a", CellState.RUNNING, still_seconds=900.0))
    assert Filter("静默").keeps(still)
    assert Filter("running").keeps(still)


def test_no_title_of_a_queue_is_cut(chinese: None) -> None:
    assert not [title for title, cells, _ in LANES if cell_len(say(title)) > cells]


async def test_the_set_of_columns_is_named_in_chinese(
    cockpit: Make, chinese: None, text_of: Callable[[CockpitApp], str]
) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("o")
        await pilot.pause()
        assert "1 实例 · 6 · 费用" in text_of(app)
