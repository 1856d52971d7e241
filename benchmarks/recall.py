"""The share of messages whose fact is in the prompt, and in the first five of a search; and what strays
into prompts.

A set holds facts of people, their later questions and tasks with the facts that each needs, unrelated prompts, and
distractors: facts of others. Its author had not seen the ranking. The figures of the product are those of a spawned
gateway; beside them stand, on the same facts and the same vectors: cosine alone, BM25 alone (k1 1.2, b 0.75), and their
sum.

Rule 1: a home holds one group of people and the distractors; each question is a turn of a thread of its own.
Rule 2: where a model is absent its rows are absent; nothing is guessed.
Rule 3: what is regulated (an allergy, a medicine) never comes into a prompt unasked; a prompt that needs it misses it here
too, and how many do is told. A search is one that asks for such facts as well, as those beside it find them.
"""

import argparse
import asyncio
import math
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from benchmarks.conversations import data_folder, read_conversations
from benchmarks.goals import keep, kept
from benchmarks.inputs import embed_texts, model_folder, read_rows
from benchmarks.peers import run_peer
from benchmarks.report import machine, show_table
from benchmarks.rivals import WORDS_PART, bm25
from benchmarks.stage import WORKSPACE, Stage
from memory.read.ranking import count_recallable
from protocol import methods as call
from protocol.conversation.threads import ThreadStartParams
from protocol.conversation.turns import TextInput, TurnOptions, TurnStartParams
from protocol.memory.explaining import ExplainParams
from protocol.memory.reads import SearchParams
from protocol.memory.values import Context
from protocol.memory.writes import RememberParams
from protocol.settings import RecallSettings
from retrieval.terms import SnowballLexicon

SETS = Path(__file__).with_name("sets") / "facts"
SETS_VARIABLE = "PIONEER_BENCH_FACTS"
"""Another folder of sets, for figures on text that nobody here has seen."""
FIRST = 5
SOUGHT = 10
ITEMS = RecallSettings().items
NAIVE_FLOOR = 0.30  # of the rows that are no product of ours: a floor that a first attempt would take
NAIVE_ITEMS = 5
EVERY_FOREIGN = 3
PEERS = ("mem0", "chroma", "lancedb", "mcp-memory-service")
"""Those that take facts; what they find is ranked, so that they have a first five and no prompt."""
FLOORS = (0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25)


class Ask(NamedTuple):
    """A message, the facts that it needs (none: it is unrelated), and those that would be fine."""

    text: str
    needs: frozenset[str]
    fine: frozenset[str]
    lang: str


class Group(NamedTuple):
    """The facts and the questions of one home."""

    name: str
    facts: dict[str, str]
    asks: list[Ask]


class Outcome(NamedTuple):
    """The recall of one message: the ids in its prompt, the first of a search, and what recall considered, with scores.

    `by_meaning`: the first of a search by meaning alone.
    """

    ask: Ask
    shown: Sequence[str]
    found: Sequence[str]
    considered: Sequence[tuple[str, float]] = ()
    by_meaning: Sequence[str] = ()


def read_groups(folder: Path) -> list[Group]:
    """The groups of a folder of sets. English people are a home each; those of other languages share one."""
    groups: list[Group] = []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        facts, questions = read_rows(place / "facts.jsonl"), read_rows(place / "questions.jsonl")
        unrelated, distractors = read_rows(place / "unrelated.jsonl"), read_rows(place / "distractors.jsonl")
        people = sorted({fact["persona"] for fact in facts})
        is_english = all(fact["lang"] == "en" for fact in facts)
        for members in [[one] for one in people] if is_english else [people]:
            own = {f"{fact['persona']}:{fact['id']}": fact["text"] for fact in facts if fact["persona"] in members}
            asks = [
                Ask(
                    ask["text"],
                    frozenset(f"{ask['persona']}:{need}" for need in ask["needs"]),
                    frozenset(f"{ask['persona']}:{need}" for need in ask.get("also_fine") or ()),
                    ask["lang"],
                )
                for ask in questions
                if ask["persona"] in members
            ] + [Ask(one["text"], frozenset(), frozenset(), one["lang"]) for one in unrelated]
            name = f"{place.name} {members[0]}" if is_english else place.name
            groups.append(Group(name, own | {f"other:{one['id']}": one["text"] for one in distractors}, asks))
    return groups


def observed_groups(folder: Path) -> list[Group]:
    """LoCoMo's conversations as groups: their observations, their questions, and every third question of the next
    conversation."""
    conversations = read_conversations(folder)
    groups: list[Group] = []
    for n, conversation in enumerate(conversations):
        seen = [(dia_id, one.fact) for dia_id, facts in conversation.observed.items() for one in facts]
        facts = {f"{dia_id}/{place}": fact for place, (dia_id, fact) in enumerate(seen)}
        asks: list[Ask] = []
        for question in conversation.questions:
            needs = frozenset(name for name in facts if name.partition("/")[0] in question.evidence)
            if needs:
                asks.append(Ask(question.text, needs, frozenset(), "en"))
        foreign = conversations[(n + 1) % len(conversations)].questions[::EVERY_FOREIGN]
        asks += [Ask(question.text, frozenset(), frozenset(), "en") for question in foreign]
        groups.append(Group(f"observations {conversation.name}", facts, asks))
    return groups


# -- ours --------------------------------------------------------------------------------------------------------------


async def _outcomes(group: Group, folder: Path, embedding: str) -> tuple[list[Outcome], int, frozenset[str]]:
    """Return each message's recall with these settings of `[gateway.embedding]`, and the number of facts kept.

    With those of them that no prompt is given.
    """
    stage = Stage(folder)
    stage.write_files(b"")
    config = folder / "config.toml"
    text = config.read_text(encoding="utf-8").partition("\n[gateway.embedding]")[0]
    config.write_text(f"{text}\n[gateway.embedding]\n{embedding}\n", encoding="utf-8")
    await stage.open()
    try:
        await stage.add_workspace(WORKSPACE)
        ids: dict[str, str] = {}
        regulated: set[str] = set()
        for name, content in group.facts.items():
            params = RememberParams(content=content, context=Context(workspace_id=WORKSPACE))
            written = await stage.client.call(call.MEMORY_REMEMBER, params)
            ids.setdefault(written.record.memory_id, name)
            regulated |= {name} if written.record.sensitivity == "regulated" else set()
        await stage.drain()
        outcomes: list[Outcome] = []
        for ask in group.asks:
            thread = (await stage.client.call(call.THREAD_START, ThreadStartParams(workspace_id=WORKSPACE))).thread
            turn = await stage.client.call(
                call.TURN_PREPARE,
                TurnStartParams(
                    thread_id=thread.thread_id,
                    input=[TextInput(text=ask.text)],
                    options=TurnOptions(skip_retention=True),
                ),
            )
            found: list[list[str]] = []
            for mode in ("hybrid", "semantic"):
                search = SearchParams(
                    query=ask.text,
                    mode=mode,
                    limit=SOUGHT,
                    include_sensitive=True,
                    context=Context(workspace_id=WORKSPACE),
                )
                hits = (await stage.client.call(call.MEMORY_SEARCH, search)).hits
                found.append([ids.get(hit.record.memory_id, "") for hit in hits])
            why = await stage.client.call(
                call.MEMORY_EXPLAIN, ExplainParams(query=ask.text, context=Context(workspace_id=WORKSPACE))
            )
            considered = [(ids.get(one.memory_id or "", ""), one.score) for one in why.candidates]
            shown = [ids.get(memory_id, memory_id) for memory_id in turn.prompt_manifest.recall.memory_ids]
            outcomes.append(Outcome(ask, shown, found[0], considered, found[1]))
        return outcomes, len(ids), frozenset(regulated)
    finally:
        await stage.end()


# -- what anybody could do
# -----------------------------------------------------------------------------------------------

_WORD = re.compile(r"\w+")


def _counted(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def _naive(group: Group, score: Callable[[int], np.ndarray], floor: float) -> list[Outcome]:
    names = list(group.facts)
    outcomes: list[Outcome] = []
    for place, ask in enumerate(group.asks):
        scores = score(place)
        order = np.argsort(-scores, kind="stable")[:SOUGHT]
        shown = [names[n] for n in order[:NAIVE_ITEMS] if scores[n] >= floor]
        outcomes.append(Outcome(ask, shown, [names[n] for n in order if scores[n] > 0]))
    return outcomes


def _naive_rows(group: Group, vectors: Callable[[Sequence[str]], np.ndarray] | None) -> dict[str, list[Outcome]]:
    """The outcomes of each naive way by its name; those by meaning only where there are vectors."""
    texts = list(group.facts.values())
    documents = [_counted(text) for text in texts]
    lengths = [document.total() for document in documents]
    words = [np.array(bm25(list(_counted(ask.text)), documents, lengths)) for ask in group.asks]
    ways: dict[str, list[Outcome]] = {"BM25 alone": _naive(group, lambda n: words[n], 3.0)}
    if vectors is not None:
        cosines = vectors([ask.text for ask in group.asks]) @ vectors(texts).T
        ways["cosine alone"] = _naive(group, lambda n: cosines[n], NAIVE_FLOOR)
        ways["cosine + BM25"] = _naive(group, lambda n: cosines[n] + WORDS_PART * words[n], NAIVE_FLOOR)
    return ways


def _peer_outcomes(
    group: Group, name: str, vectors: Callable[[Sequence[str]], np.ndarray], model: Path
) -> list[Outcome] | str:
    """Return a peer's ranking with the same vectors, or the reason for which there is none."""
    names = list(group.facts)
    numbers = vectors(list(group.facts.values())).tolist()
    items = [
        ("all", str(place), group.facts[key], vector)
        for place, (key, vector) in enumerate(zip(names, numbers, strict=True))
    ]
    told = run_peer(name, items, [("all", ask.text) for ask in group.asks], model)
    if isinstance(told, str):
        return told
    return [
        Outcome(ask, (), [names[int(place)] for place in found[:FIRST]])
        for ask, found in zip(group.asks, told.ranked, strict=True)
    ]


# -- figures
# -------------------------------------------------------------------------------------------------------------


def figures(outcomes: Sequence[Outcome]) -> tuple[float, float, float, float]:
    """The share of messages with a needed fact in the prompt, of unrelated ones with any, facts a message, needed ones
    in the first five."""
    own = [one for one in outcomes if one.ask.needs]
    unrelated = [one for one in outcomes if not one.ask.needs]

    def mean(values: Sequence[float]) -> float:
        return float(np.mean(values)) if values else math.nan

    return (
        mean([not one.ask.needs.isdisjoint(one.shown) for one in own]),
        mean([bool(one.shown) for one in unrelated]),
        mean([len(one.shown) for one in own]),
        mean([not one.ask.needs.isdisjoint(one.found[:FIRST]) for one in own]),
    )


def apart(group: Group, outcomes: Sequence[Outcome], *, by_meaning: bool = False) -> tuple[int, float, float]:
    """Return how many messages share no word with a fact that they need, and the share of them that finds one.

    Among the first five, and among the first ten.
    """
    lexicon = SnowballLexicon()
    own: list[Outcome] = []
    for one in (one for one in outcomes if one.ask.needs):
        said = frozenset(lexicon.query_terms(one.ask.text))
        if all(said.isdisjoint(lexicon.index_terms(group.facts[need])) for need in one.ask.needs):
            own.append(one._replace(found=one.by_meaning) if by_meaning else one)

    def share(first: int) -> float:
        return float(np.mean([not one.ask.needs.isdisjoint(one.found[:first]) for one in own])) if own else math.nan

    return len(own), share(FIRST), share(SOUGHT)


def at_floor(outcomes: Sequence[Outcome], floor: float) -> list[Outcome]:
    """The same outcomes as another floor of recall would have made them."""
    made: list[Outcome] = []
    for one in outcomes:
        odds = [math.log(max(1e-9, score) / max(1e-9, 1 - score)) for _, score in one.considered]
        shown = [name for name, _ in one.considered[: count_recallable(odds, floor)]]
        made.append(one._replace(shown=shown[:ITEMS]))
    return made


def _embed(folder: Path, texts: Sequence[str]) -> np.ndarray:
    return asyncio.run(embed_texts(folder, texts)).astype(np.float32)


def main(arguments: list[str]) -> int:
    """Print the figures of each group, in each mode and each naive way."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks recall", description=__doc__)
    parser.add_argument("--only", help="groups whose name holds this")
    parser.add_argument("--modes", nargs="*", default=["words", "static", "model"])
    parser.add_argument(
        "--peers", nargs="*", choices=PEERS, default=[], help="others that are installed and asked the same"
    )
    given = parser.parse_args(arguments)
    folders = [SETS, *([Path(other)] if (other := os.environ.get(SETS_VARIABLE)) else [])]
    groups = [group for folder in folders for group in read_groups(folder)]
    data = data_folder()
    groups += observed_groups(data) if data is not None else []
    groups = [group for group in groups if (given.only or "") in group.name]
    folder = model_folder()
    modes = {
        "words": "enabled = false",
        "static": f"model_path = {msgspec.json.encode(str(SETS / 'no-model')).decode()}",
        **({"model": f"model_path = {msgspec.json.encode(str(folder)).decode()}"} if folder is not None else {}),
    }
    print(f"{sum(len(g.facts) for g in groups)} facts, {sum(len(g.asks) for g in groups)} messages; {machine()}")
    rows: list[tuple[object, ...]] = []
    curves: list[tuple[object, ...]] = []
    wordless: list[tuple[object, ...]] = []
    withheld: dict[str, tuple[int, int]] = {}
    for group in groups:
        for peer, model in [(peer, folder) for peer in given.peers if folder is not None]:
            ranked = _peer_outcomes(group, peer, partial(_embed, model), model)
            if isinstance(ranked, str):
                print(f"{peer}: left out, {ranked}")
                continue
            rows.append((group.name, peer, len(group.facts), "", "", "", figures(ranked)[3]))
        for way, outcomes in _naive_rows(group, partial(_embed, folder) if folder is not None else None).items():
            rows.append((group.name, way, len(group.facts), *figures(outcomes)))
            wordless.append((group.name, way, *apart(group, outcomes)))
        for mode in (mode for mode in given.modes if mode in modes):
            with tempfile.TemporaryDirectory() as place:
                outcomes, count, regulated = asyncio.run(_outcomes(group, Path(place), modes[mode]))
            own = [one.ask.needs for one in outcomes if one.ask.needs]
            withheld[group.name] = (len(own), sum(needs <= regulated for needs in own))
            rows.append((group.name, f"ours, {mode}", count, *figures(outcomes)))
            wordless.append((group.name, f"ours, {mode}, hybrid", *apart(group, outcomes)))
            wordless.append((group.name, f"ours, {mode}, semantic", *apart(group, outcomes, by_meaning=True)))
            curve = [figures(at_floor(outcomes, floor)) for floor in FLOORS]
            curves.append((group.name, mode, *(f"{needed:.2f} / {stray:.2f}" for needed, stray, _, _ in curve)))
    heads = ("group", "way", "facts", "needed in prompt", "unrelated with any", "facts a message", "needed in first 5")
    show_table("facts that are needed", heads, rows)
    show_table(
        "needed in the prompt / unrelated with any, by the floor of a score",
        ("group", "mode", *map(str, FLOORS)),
        curves,
    )
    heads = ("group", "way", "messages", "needed in first 5", "needed in first 10")
    show_table("messages that share no word with what they need", heads, wordless)
    show_table(
        "messages that need only what no prompt is given",
        ("group", "messages", "of these"),
        [(name, *counts) for name, counts in withheld.items()],
    )
    before = {(group, way): share for group, way, share in kept("recall").get("first_five", [])}
    now = {(str(group), str(way)): share for group, way, *_, share in rows}
    whole = [[*place, share] for place, share in (before | now).items()]
    keep("recall", {"command": "python -m benchmarks recall --peers " + " ".join(PEERS), "first_five": whole})
    return 0
