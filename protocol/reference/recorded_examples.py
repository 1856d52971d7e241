"""The examples of the pages: for each method, the parameters of a request that a recorded session makes."""

import json
from pathlib import Path
from typing import Any, cast

LONGEST = 120
"""Longer texts, such as a bundle's, are cut: an example shows the shape."""
PREFIXES = {
    "memory_id": "mem_",
    "candidate_id": "cand_",
    "turn_id": "trn_",
    "run_id": "run_",
    "address": "notes:",
    "path": "/",
    "cwd": "/",
}
"""The beginnings of values that a session takes from earlier answers or its folder; by the end of a member's name."""


def read_examples(sessions: Path) -> dict[str, str]:
    """Return by method the `params`, as JSON, of the first plain request for it that a session answers well.

    The session of `a/b` is `a_b.jsonl`; others stand in for it. Without the folder, as where the program is
    installed, there are none.
    """
    found: dict[str, str] = {}
    stand_ins: dict[str, str] = {}
    for file in sorted(sessions.glob("*.jsonl")):
        steps = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        answers = [step["expect"] for step in steps if isinstance(step.get("expect"), dict)]
        succeeded = {answer["id"] for answer in answers if isinstance(answer.get("id"), int) and "result" in answer}
        for sent in (step["send"] for step in steps if isinstance(step.get("send"), dict)):
            params = sent.get("params")
            if params and "_meta" not in params and sent.get("id") in succeeded:
                is_own = sent["method"].replace("/", "_") == file.stem
                shown = json.dumps(_show(params), ensure_ascii=False)
                (found if is_own else stand_ins).setdefault(cast("str", sent["method"]), shown)
    return stand_ins | found


def _show(value: Any, name: str = "") -> Any:
    """Return a value as a reader may write it: what an earlier answer gave is an ellipsis behind its prefix."""
    if isinstance(value, dict):
        if "$ref" in value:
            return next((prefix for end, prefix in PREFIXES.items() if name.endswith(end)), "") + "…"
        return {member: _show(inner, member) for member, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_show(inner, name) for inner in cast("list[Any]", value)]
    if isinstance(value, str) and len(value) > LONGEST:
        return value[:LONGEST] + "…"
    return value
