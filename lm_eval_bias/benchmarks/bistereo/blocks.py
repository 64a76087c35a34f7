"""The order of BIStereo's documents: any first part of them is like the whole."""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lm_eval_bias.harness.dataset import Document, in_proportion, in_turns

SEED = 20250601
_ALTERNATIVES = re.compile(r"\{([^{}]*)\}")


def alternatives(*texts: str) -> list[tuple[str, ...]]:
    """The variants of texts with groups "{one|two}": all first ones, then all second ones.
    ValueError for groups of different size."""
    groups = [group.split("|") for text in texts for group in _ALTERNATIVES.findall(text)]
    sizes = {len(group) for group in groups} or {1}
    if len(sizes) > 1:
        numbers = " and ".join(map(str, sorted(sizes)))
        raise ValueError(
            f"groups of {numbers} alternatives; they go together, so give each as many"
        )

    def variant(text: str, i: int) -> str:
        return _ALTERNATIVES.sub(lambda group: group[1].split("|")[i], text)

    return [tuple(variant(text, i) for text in texts) for i in range(sizes.pop())]


def by_audience(
    counts: Mapping[str, Mapping[Any, int]], genders: Sequence[Any]
) -> dict[tuple[Any, ...], list[tuple[str, list[int]]]]:
    """The genders that are asked the same -> wordings with the variants they are asked.

    counts: wording -> gender -> number of variants. Wordings are shuffled; those that no other
    audience is asked come first.
    """
    wordings = list(counts)
    random.Random(SEED).shuffle(wordings)
    audiences: dict[tuple[Any, ...], dict[str, list[int]]] = {}
    for wording in wordings:
        for variant in range(max(counts[wording].values())):
            audience = tuple(g for g in genders if variant < counts[wording].get(g, 0))
            audiences.setdefault(audience, {}).setdefault(wording, []).append(variant)
    return {
        audience: sorted(
            chosen.items(), key=lambda item: len(item[1]) < max(counts[item[0]].values())
        )
        for audience, chosen in audiences.items()
    }


def balanced(
    streams: Iterable[Sequence[Sequence[Document]]], gender: str | None, *cells: str
) -> list[Document]:
    """The documents of a gender, or all, of streams of blocks: a block of each cell in turn. Within
    a cell, streams keep their shares.

    cells: columns that a stream shares.
    """
    columns = defaultdict(list)
    for stream in streams:
        cell = tuple(stream[0][0][c] for c in cells)
        columns[cell].append(stream)
    turns = in_turns([in_proportion(parts) for parts in columns.values()])
    return [d for block in turns for d in block if gender in (None, d["gender"])]
