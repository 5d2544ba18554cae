"""A test that fails leaves its frames, and what they held open: the next test must not be called to account for it."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Generator

import pytest

FAILED = pytest.StashKey[bool]()
LAST = ("last_type", "last_value", "last_traceback", "last_exc")  # pytest keeps its frames here


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    done = yield
    if item.stash.get(FAILED, False):
        _clear_away()
    return done


def _clear_away() -> None:
    """Whatever its end has to complain of, such as a socket that nobody closed, was told by the failure."""
    for name in LAST:
        sys.__dict__.pop(name, None)
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.collect()
    finally:
        sys.unraisablehook = hook
