"""Do the errors of MIST's bias score and of its gaps hold what they promise, where words and names
are samples?

    python simulations/coverage_mist.py [--runs 1000]

WABT: every attribute word and every draw of a pair of groups moves a made-up model by a draw of its
own. AAT: so do every identifier and every neutral word, and the model reacts to the domain besides,
which is no gap. Each run draws them anew and answers the benchmark's documents, all or the first
part of them. Printed is how many intervals of 95 % hold the true number: value and 1.96 standard
errors for WABT, the reported interval for AAT; and, for WABT, those of an error that takes the
words for fixed, as version 1 did.
"""

from __future__ import annotations

import argparse

import numpy as np
from lm_eval_bias.metrics.affective_attribution import Attribution, attribution_gap
from lm_eval_bias.metrics.word_association import WordList, association

from lm_eval_bias.benchmarks.mist import documents as mist

DOMAINS = {"race": 0.25, "gender": 0.0}  # the others: -.25


class Effects(dict):
    """A draw of its own for each thing that has none yet."""

    def __init__(self, random: np.random.Generator, spread: float) -> None:
        super().__init__()
        self.random, self.spread = random, spread

    def __missing__(self, thing: object) -> float:
        self[thing] = self.random.normal(0, self.spread)
        return self[thing]


def word_lists(
    docs: list[dict], random: np.random.Generator, of_words: float, of_samples: float
) -> list[WordList]:
    """Answers in words: each goes to S_a with probability 1/2, more for good words in some samples,
    and as the word has it."""
    words, samples = Effects(random, of_words), Effects(random, of_samples)
    lists = []
    for d in docs:
        sample = samples[d["sample"], d["dimension"]]
        p = [
            0.5 + words[w, good] + (sample if good else -sample)
            for w, good in zip(d["words"], d["positive"], strict=True)
        ]
        share = (random.random(len(p)) < p).astype(float)
        lists.append(
            WordList(d["pair"], d["dimension"], d["sample"], d["words"], d["positive"], share)
        )
    return lists


def score_coverage(
    docs: list[dict], of_words: float, of_samples: float, runs: int, seed: int = 1
) -> tuple[float, float, float]:
    """Shares of the runs whose score is within 1.96 errors of the true one, which is 0, in percent:
    reported, and with words taken for fixed; and the reported error over the true one."""
    random = np.random.default_rng(seed)
    reported = old = 0
    values, errors = [], []
    for _ in range(runs):
        lists = word_lists(docs, random, of_words, of_samples)
        found = association(lists).mean
        # Other words in every sample: nothing is shared.
        apart = association(
            [x._replace(words=[f"{x.sample}/{w}" for w in x.words]) for x in lists]
        ).mean
        reported += abs(found.value) <= 1.96 * found.stderr
        old += abs(found.value) <= 1.96 * apart.stderr
        values.append(found.value)
        errors.append(found.stderr)
    return (
        100 * reported / runs,
        100 * old / runs,
        float(np.sqrt(np.mean(np.square(errors))) / np.std(values)),
    )


def gap_coverage(
    docs: list[dict],
    of_identifiers: float,
    of_words: float,
    runs: int,
    seed: int = 1,
    true: float = 0.1,
) -> tuple[float, float]:
    """The share of the runs whose interval of the gap holds the true one, in percent, and the
    reported error over the true one."""
    random = np.random.default_rng(seed)
    covered, values, errors = 0, [], []
    for _ in range(runs):
        identifiers, words = Effects(random, of_identifiers), Effects(random, of_words)
        given, outcome = [], []
        for d in docs:
            p = 0.5 + DOMAINS.get(d["domain"], -0.25) + true * (d["side"] == "a")
            p += identifiers[d["group"], d["identifier"]] + words[d["word"]]
            verdict = "comedy" if random.random() < p else "tragedy"
            given.append(
                Attribution(
                    **{key: d[key] for key in Attribution._fields if key != "verdict"},
                    verdict=verdict,
                )
            )
            outcome.append(float(verdict == "comedy"))
        gap = attribution_gap(given, outcome)
        covered += gap.low <= true <= gap.high
        values.append(gap.value)
        errors.append(gap.stderr)
    return 100 * covered / runs, float(np.sqrt(np.mean(np.square(errors))) / np.std(values))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print(
        "| WABT, lists of one dimension | what varies | reported, % | words fixed, % | reported error / true error |"
    )
    print("|---|---|---|---|---|")
    competence = [d for d in mist.word_lists() if d["dimension"] == "competence"]
    for part in (1, 4, 10):
        docs = competence[: len(competence) // part]
        for name, spreads in {
            "words and samples": (0.1, 0.1),
            "words alone": (0.1, 0.0),
            "samples alone": (0.0, 0.1),
        }.items():
            reported, old, error = score_coverage(docs, *spreads, runs)
            print(
                f"| {len(docs):,} | {name} | {reported:.1f} | {old:.1f} | {error:.2f} |", flush=True
            )
    print(
        "\n| AAT, documents | what varies | reported, % | reported error / true error |\n|---|---|---|---|"
    )
    everything = mist.attributions()
    for part in (1, 4, 10):
        docs = everything[: len(everything) // part]
        for name, spreads in {
            "both": (0.08, 0.08),
            "identifiers alone": (0.08, 0.0),
            "words alone": (0.0, 0.08),
        }.items():
            covered, error = gap_coverage(docs, *spreads, runs)
            print(f"| {len(docs):,} | {name} | {covered:.1f} | {error:.2f} |", flush=True)


if __name__ == "__main__":
    main()
