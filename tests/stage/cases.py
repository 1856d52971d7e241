"""Many cases in one test: a corpus is one item of the suite, and a failure names every case that is wrong."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

SHOWN = 300
"""Characters of a case that a failure shows."""


def each(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a pure test for every case, as `parametrize` reads them; fixtures are made once, for all of them."""
    members = (names,) if isinstance(names, str) else tuple(names)
    listed = [dict(zip(members, (case,) if len(members) == 1 else case, strict=True)) for case in cases]
    assert listed, f"there is no case of {', '.join(members)}"

    def fold(check: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(check)
        def test(**given: Any) -> None:
            wrong: list[tuple[dict[str, Any], BaseException]] = []
            for case in listed:
                try:
                    check(**given, **case)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # every case is told
                    wrong.append((case, error))
            if wrong:
                told = "\n".join(f"- {case!r:.{SHOWN}}: {type(error).__name__}: {error}" for case, error in wrong)
                raise AssertionError(f"{len(wrong)} of {len(listed)} cases fail\n{told}") from wrong[0][1]

        outer = inspect.signature(check)
        fixtures = [parameter for name, parameter in outer.parameters.items() if name not in members]
        folded: Any = test
        folded.__signature__ = outer.replace(parameters=fixtures)
        return folded

    return fold
