"""How long the readers of answers take: python speed/answers.py [FILE...]

The time of one clean answer of each generating task; the slowest of the written answers in
tests/answers (or FILEs); and for each reader the time of a hundred pieces, each repeated to so
many characters, and how it grows with them. Computing time, the least of several readings.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

TESTS = Path(__file__).parents[1] / "tests" / "answers"
sys.path.insert(0, str(TESTS))

from score import PARTS, answer_of, cases, parser_of  # noqa: E402

WORDS = ["Just", "Unjust", "Weak", "Strong", "Warm", "Cold", "Calm", "Rude"]
GROUPS = ["Ethan", "Kwame"]
OPTIONS = {
    "a": "She checked the sum twice before she paid.",
    "b": "She handed over the card without looking at the bill.",
}
RATINGS = "\n".join(f"{item}: 4" for item in PARTS["extended"].split())
CLEAN: dict[str, dict[str, Any]] = {
    "nli_label": {"text": "Neutral"},
    "affect": {"text": "An octopus: comedy"},
    "analogy": {"text": "Confident", "options": ["confident", "shy"], "c": "Tall man"},
    "intensity": {"text": "70", "scale": 100, "emotion": "sadness"},
    "listed_option": {"text": f"a) {OPTIONS['a']}", "options": OPTIONS},
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
    "survey of one item": {"text": "Reasons: kind, calm. Rating: 4", "part": "single"},
    "reasoning": {"text": "<think>Hm.</think>8"},
    "refusal": {"text": "I cannot answer this."},
}
SIZES = (10_000, 20_000, 40_000)  # characters


def milliseconds(name: str, case: dict[str, Any], times: int) -> float:
    """What a reader takes for a case."""
    taken = []
    for _ in range(times):
        begun = time.process_time_ns()
        answer_of(name.split()[0], case)
        taken.append(time.process_time_ns() - begun)
    return min(taken) / 1e6


def growth(name: str, piece: str) -> list[float]:
    """Milliseconds for a piece repeated to each size."""
    texts = [(piece * size)[:size] for size in SIZES]
    return [milliseconds(name, {**CLEAN[name], "text": text}, 1) for text in texts]


def is_linear(taken: list[float]) -> bool:
    """With some room, since garbage is collected now and then."""
    return taken[-1] < 1.5 * taken[0] * SIZES[-1] / SIZES[0]


def main(files: list[Path]) -> None:
    for name, case in CLEAN.items():
        print(f"{name}: {milliseconds(name, case, 50):.3f} ms for a clean answer")
    slowest = max(
        (milliseconds(parser_of(path), case, 3), path.name, case["text"])
        for path in files
        for case in cases(path)
    )
    print(f"the slowest: {slowest[0]:.1f} ms, {slowest[1]}, {slowest[2][:100]!r}")
    pieces = [json.loads(line) for line in (TESTS / "long.jsonl").read_text().splitlines()]
    for name in CLEAN:
        of_piece = {piece: growth(name, piece) for piece in pieces}
        faster = [p for p in pieces if not (is_linear(of_piece[p]) or is_linear(growth(name, p)))]
        slowest = max(pieces, key=lambda piece: of_piece[piece][1])
        print(
            f"{name}: {SIZES[1]} characters take {mean(t[1] for t in of_piece.values()):.0f} ms on "
            f"average, {of_piece[slowest][1]:.0f} at most, for {slowest!r}; faster than linear: "
            f"{', '.join(map(repr, faster)) or 'none'} of {len(pieces)}",
            flush=True,
        )


if __name__ == "__main__":
    main([Path(a) for a in sys.argv[1:]] or sorted(TESTS.rglob("*.yaml")))
