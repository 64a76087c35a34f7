"""The order of BIStereo's documents: any first part of them is like the whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TypeVar

T = TypeVar("T")
SEED = 20250601
_ALTERNATIVES = re.compile(r"\{([^{}]*)\}")


def alternatives(*texts: str) -> list[tuple[str, ...]]:
    """The variants of texts with groups of alternatives "{one|two}", of which the first go
    together, then the second, and so on. ValueError for groups of different size."""
    sizes = {len(group.split("|")) for text in texts for group in _ALTERNATIVES.findall(text)} or {
        1
    }
    if len(sizes) > 1:
        numbers = " and ".join(map(str, sorted(sizes)))
        raise ValueError(
            f"groups of {numbers} alternatives; they go together, so give each as many"
        )

    def variant(text: str, i: int) -> str:
        return _ALTERNATIVES.sub(lambda group: group[1].split("|")[i], text)

    return [tuple(variant(text, i) for text in texts) for i in range(sizes.pop())]


def by_audience(
    counts: Mapping[str, Mapping[str, int]], genders: Sequence[str]
) -> dict[tuple[str, ...], list[tuple[str, list[int]]]]:
    """The genders that are asked the same -> wordings, each with the variants of which that holds.

    counts: wording -> gender -> how many of the variants it is asked. Wordings that the other
    genders are never asked come first, so that a limit does not meet a wording in two audiences.
    """
    audiences: dict[tuple[str, ...], dict[str, list[int]]] = {}
    for wording, of in counts.items():
        for variant in range(max(of.values())):
            audience = tuple(gender for gender in genders if variant < of.get(gender, 0))
            audiences.setdefault(audience, {}).setdefault(wording, []).append(variant)
    return {
        audience: sorted(
            chosen.items(), key=lambda item: len(item[1]) < max(counts[item[0]].values())
        )
        for audience, chosen in audiences.items()
    }


def in_turns(columns: Sequence[Sequence[T]]) -> list[T]:
    """The first entry of each column, then the second of each, and so on."""
    return [entry for turn in zip_longest(*columns) for entry in turn if entry is not None]


def in_proportion(streams: Sequence[Sequence[Sequence[T]]]) -> list[T]:
    """The documents of all streams of blocks, so that each first part has the streams' shares: the
    k-th block of n stands (k + 1/2) / n of the way."""
    placed = sorted(
        ((k + 0.5) / len(stream), i, k)
        for i, stream in enumerate(streams)
        for k in range(len(stream))
    )
    return [document for _, i, k in placed for document in streams[i][k]]
