"""Diversity of reasons: Self-BLEU and entropy of n-grams (StereoMap, appendix L, Table 14)."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import nan
from typing import Any

import scipy

ORDER = 4
"""BLEU counts n-grams up to this n."""


def self_bleu(texts: Sequence[str]) -> float:
    """Mean BLEU-4 of each text against all others, from 0 to 1; NaN for fewer than two texts.

    A count of 0 is 0.1. Source: Zhu et al. 2018 (Texygen), by sacrebleu.
    """
    if len(texts) < 2:
        return nan
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(
        lowercase=True,
        smooth_method="floor",
        smooth_value=0.1,
        max_ngram_order=ORDER,
        effective_order=True,
    )
    scores = [
        bleu.sentence_score(text, [*texts[:i], *texts[i + 1 :]]).score / 100
        for i, text in enumerate(texts)
    ]
    return sum(scores) / len(scores)


def entropy(texts: Iterable[str], n: int) -> float:
    """Entropy of word n-grams in bits: -sum of f log2 f, f the share of an n-gram. NaN without any.
    Source: Zhang et al. 2018 (Ent-n)."""
    counts: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = re.findall(r"\w+(?:['-]\w+)*", text.lower())
        counts.update(zip(*(words[i:] for i in range(n)), strict=False))
    return float(scipy.stats.entropy(list(counts.values()), base=2)) if counts else nan


def diversity(reasons: Mapping[tuple[str, str, str, Any, int], str]) -> list[dict[str, Any]]:
    """Table 14: a row for each prompt style.

    reasons: (style, group, question, round, number in the round) -> text. Self-BLEU is averaged
    over questions and groups with two answers or more.
    """
    by_style: dict[str, dict[tuple[Any, ...], str]] = defaultdict(dict)
    for (style, *key), text in reasons.items():
        by_style[style][tuple(key)] = text
    shared = set.intersection(*(set(texts) for texts in by_style.values())) if by_style else set()
    rows = []
    for style, texts in by_style.items():
        of = {key: text for key, text in texts.items() if key in shared}
        together: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        for (group, question, *_), text in of.items():
            together[group, question].append(text)
        scores = [self_bleu(answers) for answers in together.values() if len(answers) > 1]
        rows.append(
            {
                "style": style,
                "answers": len(of),
                "of": len(texts),
                "self_bleu": sum(scores) / len(scores) if scores else nan,
                "entropy_2": entropy(of.values(), 2),
                "entropy_3": entropy(of.values(), 3),
            }
        )
    return rows
