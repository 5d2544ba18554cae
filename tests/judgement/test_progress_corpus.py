"""What is read of labelled lines, real ones of sixty programs, stays as good as it is."""

from __future__ import annotations

from judgement.report_progress import DEV, HOLDOUT, OWN, read, rows_of, score


def test_lines_the_reader_was_tuned_on_are_read_to_the_number() -> None:
    for rows in (rows_of(DEV), rows_of(OWN, complete=True)):
        total = score(rows)
        assert total.rows >= 78
        assert total.exact / total.rows >= 0.97
        assert total.precision() >= 0.995
        assert total.recall() >= 0.99


def test_lines_of_programs_it_was_not_tuned_on_are_read_well() -> None:
    total = score(rows_of(HOLDOUT))
    assert total.rows >= 40
    assert total.precision() >= 0.98
    assert total.recall() >= 0.8


def test_what_only_looks_like_progress_is_none() -> None:
    rows = [row for row in rows_of(OWN, complete=True) if row.progress is None]
    assert len(rows) >= 45
    assert [row.line for row in rows if read(row.line)] == []


def test_the_own_lines_are_of_many_programs() -> None:
    assert len({row.framework for row in rows_of(OWN, complete=True)}) >= 60
