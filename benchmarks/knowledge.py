"""Files as evidence: how much of what is asked for is found, and what scans, indexing and search cost beside floors.

Rule 1: collections are real folders that are given, fetched outside the repository: none is a part of it.
Rule 2: the same pieces and the same model for each way of ranking: ours, BM25 alone, cosines alone.
Rule 3: costs are processor time, each beside a floor of the same run; sizes are options.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.knowledge_quality import compare, read_questions
from benchmarks.knowledge_scale import measure
from benchmarks.report import machine

SETS = Path(__file__).parent / "sets" / "files"
REPORTED = ("hatch_docs.jsonl", "litestar_code.jsonl", "peps_prose.jsonl")
"""Questions whose author had not seen the search; `sets/files/README.md` says of which folders."""
DOCS, CODE, PROSE = "PIONEER_BENCH_DOCS", "PIONEER_BENCH_CODE", "PIONEER_BENCH_PROSE"
"""Variables that name the folders of the collections where no option does."""


def main(arguments: list[str]) -> int:
    """Measure and print; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks knowledge", description=__doc__)
    parser.add_argument("--docs", type=Path, default=os.environ.get(DOCS), help=f"folder of documentation ({DOCS})")
    parser.add_argument("--code", type=Path, default=os.environ.get(CODE), help=f"folder of a code base ({CODE})")
    parser.add_argument(
        "--prose", type=Path, default=os.environ.get(PROSE), help=f"folder of proposals in plain text ({PROSE})"
    )
    parser.add_argument("--questions", type=Path, default=None, help="a file of questions, one JSON object a line")
    parser.add_argument("--meaning", choices=("documents", "all"), default="documents")
    parser.add_argument("--model", type=Path, default=None, help="an embedding model's folder; default: the static one")
    parser.add_argument("--each", action="store_true", help="show where each answer came")
    parser.add_argument("--files", type=int, default=2000, help="files of the scale part; 0 leaves it out")
    parser.add_argument("--paragraphs", type=int, default=4, help="of each of them; of 60 words")
    options = parser.parse_args(arguments)
    print(machine())
    given = (("docs", options.docs), ("code", options.code), ("prose", options.prose))
    folders = {name: Path(path) for name, path in given if path is not None}
    is_good = True
    with tempfile.TemporaryDirectory() as folder:
        if folders:
            files = [options.questions] if options.questions is not None else [SETS / name for name in REPORTED]
            for number, path in enumerate(files):
                asked = read_questions(path)
                run = compare(
                    Path(folder) / f"quality{number}", folders, asked, options.meaning, options.model, each=options.each
                )
                is_good = asyncio.run(run) and is_good
        else:
            print(
                f"\nNo folder was given (--docs, --code, --prose, or {DOCS}, {CODE}, {PROSE}):"
                " the quality of search is not measured."
            )
        if options.files:
            is_good = asyncio.run(measure(Path(folder) / "scale", options.files, options.paragraphs)) and is_good
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
