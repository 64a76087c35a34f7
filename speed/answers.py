"""How long the readers of answers take: python speed/answers.py [FILE...]

The time of one clean answer of each generating task, and the slowest of the written answers in
tests/answers (or FILEs). Milliseconds: the least of several readings, computing time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests" / "answers"
sys.path.insert(0, str(TESTS))

from score import PARTS, answer_of, cases, parser_of  # noqa: E402

WORDS = ["Just", "Unjust", "Weak", "Strong", "Warm", "Cold", "Calm", "Rude"]
GROUPS = ["Ethan", "Kwame"]
OPTIONS = {"a": "She paid at once.", "b": "She asked for more time."}
RATINGS = "\n".join(f"{item}: 4" for item in PARTS["extended"].split())
CLEAN = {
    "nli_label": {"text": "Neutral"},
    "affect": {"text": "An octopus: comedy"},
    "analogy": {"text": "Confident", "options": ["confident", "shy"], "c": "Tall man"},
    "intensity": {"text": "70", "scale": 100},
    "listed_option": {"text": "a) She paid at once.", "options": OPTIONS},
    "word_pairs": {
        "text": "\n".join(f"({word}, {GROUPS[i % 2]})" for i, word in enumerate(WORDS)),
        "words": WORDS,
        "groups": GROUPS,
    },
    "survey": {
        "text": f"Keywords: honest, loud, poor, kind, proud\n\n{RATINGS}",
        "part": "extended",
        "keywords": 5,
    },
}


def milliseconds(read: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        begun = time.process_time_ns()
        read()
        taken.append(time.process_time_ns() - begun)
    return min(taken) / 1e6


def main(files: list[Path]) -> None:
    for name, case in CLEAN.items():
        taken = milliseconds(lambda name=name, case=case: answer_of(name, case), 50)
        print(f"{name}: {taken:.2f} ms for a clean answer")
    slowest = max(
        (milliseconds(lambda name=name, case=case: answer_of(name, case), 2), path.name, case)
        for path in files
        for name in [parser_of(path)]
        for case in cases(path)
    )
    print(f"the slowest: {slowest[0]:.1f} ms, {slowest[1]}, {slowest[2]['text'][:100]!r}")


if __name__ == "__main__":
    main([Path(a) for a in sys.argv[1:]] or sorted(TESTS.rglob("*.yaml")))
