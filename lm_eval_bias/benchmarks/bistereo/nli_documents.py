"""BIStereo-NLI: does a model infer skin tone from looks or behaviour, or the reverse?

data: items/bistereo_nli_templates.tsv (ours), items/bistereo_nli.yaml (Table 5) abstract:
premise-hypothesis pairs whose only true label is neutral; entailment and contradiction are the
bias. languages: en; others with a person's own `items` and `groups` tags: body image, skin tone,
halo effect, natural language inference paper: "You are Beautiful, Body Image Stereotypes are Ugly!"
BIStereo, sections 3.2 and 4.2, appendices I and K.1
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.schema import (
    Fields,
    Found,
    ItemFile,
    Named,
    Rows,
    Several,
    Text,
    TextOr,
    checked,
    load,
    not_the_whole,
)
from lm_eval_bias.harness.dataset import CustomDataset
from lm_eval_bias.measure import first_seen

SEED = 20250601
DIRECTIONS = ("attribute in premise", "skin tone in premise")
_SLOT = re.compile(r"\[(?P<article>a )?[XY](?::(?P<form>[^\[\]]+))?\]")
_GROUP = re.compile(r"\{([^}]*)\}")
# An adjective: a text, or its forms where a language inflects it, "base" among them.
Word = str | Mapping[str, str]

# ---- The files


def _words(groups: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], Word]]:
    """Every adjective of a file with its place."""
    for domain, categories in groups["attributes"].items():
        for category, entry in categories.items():
            for i, word in enumerate(entry["words"]):
                yield ("attributes", domain, category, "words", i), word
    for name, word in groups["descriptors"].items():
        yield ("descriptors", name), word


def _group_problems(data: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[Found]:
    effects: dict[str, str] = {}
    for domain, categories in data["attributes"].items():
        for category in categories:
            yield from not_the_whole(("attributes", domain, category), category)
            if effects.setdefault(category, domain) != domain:
                yield (
                    ("attributes", domain, category),
                    f"stands in {effects[category]} too; each domain has categories of its own",
                )
    inflected = [(place, set(word)) for place, word in _words(data) if isinstance(word, Mapping)]
    for place, forms in inflected:
        if forms != inflected[0][1]:
            yield (
                place,
                f"expected the forms {', '.join(sorted(inflected[0][1]))}, found {', '.join(sorted(forms))}",
            )


def _template_problems(rows: Any, others: Mapping[str, Any]) -> Iterator[Found]:
    groups = others["groups"]
    forms = next((set(word) for _, word in _words(groups) if isinstance(word, Mapping)), {"base"})
    whole = all(isinstance(word, Mapping) for _, word in _words(groups))
    for i, row in enumerate(rows):
        yield from not_the_whole((i, "gender"), row["gender"])
        if row["domain"] not in groups["attributes"]:
            yield (
                (i, "domain"),
                f"{row['domain']!r} is not one of the groups' domains ({', '.join(groups['attributes'])})",
            )
        for field in ("premise", "hypothesis"):
            slots = list(_SLOT.finditer(row[field]))
            if len(slots) != 1:
                yield (
                    (i, field),
                    f"expected one slot, [X] or [Y] or one with a form, found {len(slots)}",
                )
            for slot in slots:
                if slot["form"] and not whole:
                    yield (
                        (i, field),
                        f"{slot.group()} asks for a form, but not every word of the groups has forms",
                    )
                elif slot["form"] and slot["form"] not in forms:
                    yield (
                        (i, field),
                        f"{slot.group()} is no form of the words ({', '.join(sorted(forms))})",
                    )
        try:
            variants(row["premise"], row["hypothesis"])
        except ValueError as error:
            yield (i, "premise"), str(error)


class _Forms(Named):
    """The forms of an adjective, "base" among them."""

    def problems(self, data, place=()):
        yield from super().problems(data, place)
        if isinstance(data, Mapping) and "base" not in data:
            yield place, "base is missing, the form of [X]"


_WORD = TextOr(_Forms(Text()))
FILES = {
    "groups": ItemFile(
        "bistereo_nli.yaml",
        Fields(
            {"an": Several(Text(), least=0)},
            attributes=Named(Named(Fields(effect=Text(["halo", "horn"]), words=Several(_WORD)))),
            descriptors=Named(_WORD, least=2, most=2),
        ),
        _group_problems,
        lambda data: {
            "attribute categories": sum(map(len, data["attributes"].values())),
            "attributes": len(list(_words(data))) - len(data["descriptors"]),
            "descriptors": len(data["descriptors"]),
        },
    ),
    "items": ItemFile(
        "bistereo_nli_templates.tsv",
        Rows(
            Fields(wording=Text(), gender=Text(), domain=Text(), premise=Text(), hypothesis=Text()),
            unique=["wording", "gender", "domain"],
        ),
        _template_problems,
        lambda rows: {"templates": len(rows), "genders": len(first_seen(rows, "gender"))},
    ),
}


def options(items: str | None = None, groups: str | None = None) -> dict[str, Any]:
    """What --metadata may set. items: a file of templates, with the columns of
    items/bistereo_nli_templates.tsv. groups: a file of attributes and of the two descriptors that
    are compared, as items/bistereo_nli.yaml."""
    return dict(checked(FILES, items=items, groups=groups))


# ---- The pairs


def fill(text: str, word: Word, groups: Mapping[str, Any] | None = None) -> str:
    """Put an adjective into the slot of a premise or hypothesis.

    "[X]", "[a X]" for one with an English indefinite article, "[X:NAME]" for the form of that name.
    groups: what a file of groups holds, which says what takes "an"; None for ours.
    """
    groups = lexicon("bistereo_nli") if groups is None else groups

    def phrase(slot: re.Match[str]) -> str:
        form = word if isinstance(word, str) else word[slot["form"] or "base"]
        article = ("an " if form in groups.get("an", ()) else "a ") if slot["article"] else ""
        filled = article + form
        return filled[0].upper() + filled[1:] if slot.start() == 0 else filled

    return _SLOT.sub(phrase, text)


def variants(premise: str, hypothesis: str) -> list[tuple[str, str]]:
    """The variants of one template: its groups of alternatives "{one|two}" go together in order."""
    sizes = {
        len(group.split("|")) for group in _GROUP.findall(premise) + _GROUP.findall(hypothesis)
    } or {1}
    if len(sizes) > 1:
        raise ValueError(f"groups of different size in {premise!r} and {hypothesis!r}")

    def choose(text: str, i: int) -> str:
        return _GROUP.sub(lambda group: group.group(1).split("|")[i], text)

    return [(choose(premise, i), choose(hypothesis, i)) for i in range(sizes.pop())]


Document = dict[str, Any]


def documents(
    gender: str | None = None,
    domain: str | None = None,
    items: str | None = None,
    groups: str | None = None,
) -> list[Document]:
    """All premise-hypothesis pairs of a gender ("women", "men") and a domain ("looks",
    "behaviour"); None is both.

    Every template is crossed with all attributes of its domain, both skin tones and both
    directions. Pairs that are equal but for skin tone and gender stand together, so that a limit
    cuts at most one such block; any first n documents hold the cells in the proportions of the
    whole, spread over as many templates as they can be.
    """
    given = load(FILES, items=items, groups=groups)
    streams = [
        stream
        for d in given["groups"]["attributes"]
        if domain in (None, d)
        for stream in _streams(given["items"], given["groups"], d, gender)
    ]
    # The k-th block of a stream of n belongs at (k + 1/2) / n of the way.
    ranked = sorted(
        ((k + 0.5) / len(stream), i, k)
        for i, stream in enumerate(streams)
        for k in range(len(stream))
    )
    return [doc for _, i, k in ranked for doc in streams[i][k]]


def _streams(
    templates: Sequence[Mapping[str, str]],
    groups: Mapping[str, Any],
    domain: str,
    only: str | None = None,
) -> Iterator[list[list[Document]]]:
    """For each attribute category of a domain, and each set of genders that is asked something
    alike, its blocks in a fair order.

    A block: one wording, variant, attribute and direction, of all genders that are asked it and of
    both descriptors. only: one gender.
    """
    everyone = first_seen(templates, "gender")
    texts: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for row in templates:
        if row["domain"] == domain:
            texts.setdefault(row["wording"], {})[row["gender"]] = variants(
                row["premise"], row["hypothesis"]
            )
    wordings = list(texts)
    random.Random(SEED).shuffle(wordings)
    # Who is asked -> wording -> the variants of which that is so. What women alone are asked is a
    # stream of its own, and in it the wordings that men are never asked come first, so that a limit
    # does not meet a wording there that it has in the other stream.
    asked: dict[tuple[str, ...], dict[str, list[int]]] = {}
    for wording in wordings:
        for variant in range(max(map(len, texts[wording].values()))):
            who = tuple(g for g in everyone if variant < len(texts[wording].get(g, ())))
            asked.setdefault(who, {}).setdefault(wording, []).append(variant)

    def block(
        who: Sequence[str], category: str, word: Word, wording: str, of: Sequence[int], which: int
    ) -> list[Document]:
        variant, direction = of[which // 2], which % 2

        def document(gender: str, descriptor: str) -> Document:
            premise, hypothesis = texts[wording][gender][variant]
            adjectives = (word, groups["descriptors"][descriptor])
            in_premise, in_hypothesis = adjectives if direction == 0 else adjectives[::-1]
            return {
                "wording": wording,
                "variant": variant,
                "shared": len(who) == len(everyone),
                "gender": gender,
                "domain": domain,
                "descriptor": descriptor,
                "favoured": descriptor == next(iter(groups["descriptors"])),
                "category": category,
                "effect": groups["attributes"][domain][category]["effect"],
                "attribute": word if isinstance(word, str) else word["base"],
                "direction": DIRECTIONS[direction],
                "premise": fill(premise, in_premise, groups),
                "hypothesis": fill(hypothesis, in_hypothesis, groups),
            }

        return [
            document(gender, descriptor)
            for gender in who
            if only in (None, gender)
            for descriptor in groups["descriptors"]
        ]

    for who, chosen in asked.items():
        if only is not None and only not in who:
            continue
        ordered = sorted(
            chosen.items(), key=lambda item: len(item[1]) < max(map(len, texts[item[0]].values()))
        )
        for category, entry in groups["attributes"][domain].items():
            words = entry["words"]
            # Round after round over the templates; the words and directions rotate, so that each
            # round holds all of them.
            columns = [
                [
                    block(
                        who,
                        category,
                        words[(i + w) % len(words)],
                        wording,
                        of,
                        (i + w + v) % (2 * len(of)),
                    )
                    for v in range(2 * len(of))
                    for w in range(len(words))
                ]
                for i, (wording, of) in enumerate(ordered)
            ]
            yield [
                found for round_ in zip_longest(*columns) for found in round_ if found is not None
            ]


build = CustomDataset(documents, files=FILES)
