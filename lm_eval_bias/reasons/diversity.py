"""How diverse reasons are: Self-BLEU and the entropy of n-grams (StereoMap, appendix L, Table 14)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log2, nan
from typing import Any

ORDER = 4
"""BLEU counts n-grams up to this n."""


def self_bleu(texts: Sequence[str]) -> float:
    """How much each text repeats the others: the mean of BLEU-4 of each text against all others as
    references, from 0 to 1.

    BLEU = exp(min(0, 1 - r / c)) * exp(mean over n = 1..4 of log p_n), where p_n is the share of
    the text's n-grams that one of the others has, as often at most as that one has them, c its
    number of words and r that of the other nearest in length; 0.1 stands for no n-gram in common,
    and BLEU is 0 without a word in common. Texts are lower-cased; of one shorter than 4 words the
    n-grams that it has count. NaN for fewer than two texts. Source: Zhu et al. 2018 (Texygen),
    whose program smooths so (NLTK's method 1); sacrebleu's sentence BLEU. Table 14 does not say up
    to which n, and among which texts.
    """
    if len(texts) < 2:
        return nan
    from sacrebleu.metrics import BLEU

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
    """Entropy of the n-grams of words of some texts, in bits: -sum over the different ones of f
    log2 f, f its share of all.

    No n-gram goes from one text into the next. It grows with the amount of text, up to log2 of the
    number of n-grams. NaN without any. Source: Zhang et al. 2018 (Ent-n). They leave the base of
    the logarithm open; the values of Table 14 are bits: 16.28 natural units would take eleven
    million different 3-grams at least.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = re.findall(r"\w+(?:['-]\w+)*", text.lower())
        counts.update(zip(*(words[i:] for i in range(n)), strict=False))
    total = counts.total()
    if not total:
        return nan
    return abs(-sum(c / total * log2(c / total) for c in counts.values()))


def diversity(said: Mapping[tuple[str, str, str, Any, int], str]) -> list[dict[str, Any]]:
    """Table 14: a row for each prompt style, with answers, self_bleu, entropy_2 and entropy_3.

    said: (style, group, question, round, number of the answer in this round) -> reasons. Self-BLEU
    is that of the answers to one question about one group, and its mean over questions and groups
    of at least two answers. Styles are compared on what all of them answered, since entropy grows
    with the number of texts; `of` says how many answers a style has in all.
    """
    by_style: dict[str, dict[tuple[Any, ...], str]] = defaultdict(dict)
    for (style, *key), text in said.items():
        by_style[style][tuple(key)] = text
    shared = set.intersection(*(set(texts) for texts in by_style.values())) if by_style else set()
    rows = []
    for style, texts in by_style.items():
        of = {key: text for key, text in texts.items() if key in shared}
        together: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        for (group, question, *_), text in of.items():
            together[group, question].append(text)
        scores = [self_bleu(each) for each in together.values() if len(each) > 1]
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
