"""Days and bills read as the person speaks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from gpu_tui.core.speech import Catalogue, speak, told
from gpu_tui.language import speak_in
from gpu_tui.ui.text.bounds import wall

NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC).timestamp()
DAY = 86400


@pytest.fixture
def chinese() -> Iterator[None]:
    speak_in("zh")
    yield
    speak(Catalogue())


def test_a_day_is_written_in_english() -> None:
    assert wall(NOW + 10, NOW, UTC) == "09:30"
    assert wall(NOW - 20 * DAY, NOW, UTC) == "2 Nov 09:30"
    assert wall(NOW + 200 * DAY, NOW, UTC) == "10 Jun 2027 09:30"


@pytest.mark.usefixtures("chinese")
def test_a_day_is_written_in_figures_where_no_english_is_spoken() -> None:
    assert wall(NOW - 20 * DAY, NOW, UTC) == "11-02 09:30"
    assert wall(NOW + 200 * DAY, NOW, UTC) == "2027-06-10 09:30"


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("bill", "chinese_bill"),
    [
        ("running, $0.34/h, for 6 days 4 h (about $50.59)", "运行中，$0.34/h，已 6 天 4 小时（约 $50.59）"),
        ("running, at a price that is not known, for 6 days 4 h", "运行中，价格未知，已 6 天 4 小时"),
    ],
)  # fmt: skip
def test_what_bills_unseen_is_told_in_chinese(bill: str, chinese_bill: str) -> None:
    text = f"you are paying for this one: RunPod: notebook, {bill}, and it is in no fleet file"
    wanted = f"这台正在向你收费：RunPod 的 notebook（{chinese_bill}）不在机器清单里"
    assert told(text) == wanted
    more = told(f"{text}; if it is autodl-1, write provider.id: i-7 there")
    assert more == f"{wanted}；如果它是 autodl-1，在那里写 provider.id: i-7"
