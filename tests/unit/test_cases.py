"""The fold of many cases into one test: every case is run, and every one that fails is named."""

from pathlib import Path

import pytest
from cases import each

seen: list[tuple[Path, int]] = []


@each(("number", "square"), [(1, 1), (2, 4), (3, 9)])
def test_every_case_is_run_with_the_same_fixtures(tmp_path: Path, number: int, square: int) -> None:
    assert number * number == square
    seen.append((tmp_path, number))
    assert seen == [(tmp_path, n + 1) for n in range(len(seen))]


def test_every_case_that_fails_is_named() -> None:
    @each("number", [1, 2, 3])
    def is_even(number: int) -> None:
        assert number % 2 == 0

    with pytest.raises(AssertionError, match=r"2 of 3 cases fail\n- {'number': 1}: .*\n- {'number': 3}: "):
        is_even()


def test_a_case_that_fails_to_raise_is_named_too() -> None:
    @each("text", ["1", "x"])
    def is_no_number(text: str) -> None:
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(AssertionError, match=r"1 of 2 cases fail\n- {'text': '1'}: "):
        is_no_number()


def test_no_cases_are_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no case"):
        each("text", [])
