"""BIStereo-NLI: does a model infer skin tone from looks or behaviour, or the reverse?

data: items/bistereo_nli_templates.tsv (ours), items/bistereo_nli.yaml (Table 5)
abstract: premise-hypothesis pairs whose only true label is neutral; entailment and contradiction are the bias.
languages: en
tags: body image, skin tone, halo effect, natural language inference
paper: "You are Beautiful, Body Image Stereotypes are Ugly!" BIStereo, sections 3.2 and 4.2, appendices I and K.1
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

from lm_eval_bias.documents.dataset import CustomDataset
from lm_eval_bias.items import lexicon, table

SEED = 20250601
GENDERS = ("women", "men")
DIRECTIONS = ("attribute in premise", "skin tone in premise")
_SLOT = re.compile(r"\[(?P<article>a )?[XY]\]")
_GROUP = re.compile(r"\{([^}]*)\}")


def fill(text: str, word: str) -> str:
    """Put an adjective into the slot of a premise or hypothesis: "[X]", or "[a X]" for one with an indefinite article."""

    def phrase(slot: re.Match[str]) -> str:
        article = ("an " if word in lexicon("bistereo_nli")["an"] else "a ") if slot["article"] else ""
        filled = article + word
        return filled[0].upper() + filled[1:] if slot.start() == 0 else filled

    return _SLOT.sub(phrase, text)


def variants(premise: str, hypothesis: str) -> list[tuple[str, str]]:
    """The variants of one template: its groups of alternatives "{one|two}" go together in order."""
    sizes = {len(group.split("|")) for group in _GROUP.findall(premise) + _GROUP.findall(hypothesis)} or {1}
    if len(sizes) > 1:
        raise ValueError(f"groups of different size in {premise!r} and {hypothesis!r}")

    def choose(text: str, i: int) -> str:
        return _GROUP.sub(lambda group: group.group(1).split("|")[i], text)

    return [(choose(premise, i), choose(hypothesis, i)) for i in range(sizes.pop())]


def documents(gender: str | None = None, domain: str | None = None) -> list[dict[str, Any]]:
    """All premise-hypothesis pairs of a gender ("women", "men") and a domain ("looks", "behaviour"); None is both.

    Every template is crossed with all attributes of its domain, both skin tones and both directions. The two skin tones of an
    otherwise equal pair stand next to each other, and any first n documents hold the cells in the proportions of the whole,
    spread over as many templates as they can be.
    """
    streams = [
        stream
        for g in GENDERS
        for d in lexicon("bistereo_nli")["attributes"]
        if gender in (None, g) and domain in (None, d)
        for stream in _streams(g, d)
    ]
    # The k-th document pair of a stream of n belongs at (k + 1/2) / n of the way.
    ranked = sorted(((k + 0.5) / len(stream), i, k) for i, stream in enumerate(streams) for k in range(len(stream)))
    return [doc for _, i, k in ranked for doc in streams[i][k]]


@cache
def _shared_by_both_genders() -> set[tuple[str, int]]:
    """The (wording, variant) that women and men are asked alike, so that the two can be compared."""
    asked: dict[str, set[tuple[str, int]]] = {gender: set() for gender in GENDERS}
    for row in table("bistereo_nli_templates"):
        n = len(variants(row["premise"], row["hypothesis"]))
        asked[row["gender"]] |= {(row["wording"], variant) for variant in range(n)}
    return set.intersection(*asked.values())


def _streams(gender: str, domain: str) -> Iterator[list[tuple[dict[str, Any], dict[str, Any]]]]:
    """For each attribute category of a gender and domain, its (fair, dark) pairs of documents in a fair order."""
    templates = [
        (row["wording"], variants(row["premise"], row["hypothesis"]))
        for row in table("bistereo_nli_templates")
        if (row["gender"], row["domain"]) == (gender, domain)
    ]
    random.Random(SEED).shuffle(templates)
    for category, entry in lexicon("bistereo_nli")["attributes"][domain].items():
        words = entry["words"]
        # Round after round over the templates; the words and directions rotate, so that each round holds all of them.
        columns = [
            [
                _pair(
                    gender, domain, category, entry["effect"], words[(i + w) % len(words)], wording, texts, (i + w + v) % (2 * len(texts))
                )
                for v in range(2 * len(texts))
                for w in range(len(words))
            ]
            for i, (wording, texts) in enumerate(templates)
        ]
        yield [pair for round_ in zip_longest(*columns) for pair in round_ if pair is not None]


def _pair(
    gender: str, domain: str, category: str, effect: str, word: str, wording: str, texts: Sequence[tuple[str, str]], which: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    variant, direction = which // 2, which % 2
    premise, hypothesis = texts[variant]

    descriptors = lexicon("bistereo_nli")["descriptors"]

    def document(descriptor: str) -> dict[str, Any]:
        adjectives = (word, descriptors[descriptor])
        in_premise, in_hypothesis = adjectives if direction == 0 else adjectives[::-1]
        return {
            "wording": wording,
            "variant": variant,
            "shared": (wording, variant) in _shared_by_both_genders(),
            "gender": gender,
            "domain": domain,
            "descriptor": descriptor,
            "favoured": descriptor == next(iter(descriptors)),
            "category": category,
            "effect": effect,
            "attribute": word,
            "direction": DIRECTIONS[direction],
            "premise": fill(premise, in_premise),
            "hypothesis": fill(hypothesis, in_hypothesis),
        }

    favoured, other = descriptors
    return document(favoured), document(other)


build = CustomDataset(documents)
