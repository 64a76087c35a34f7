"""BIStereo-Tuples: does a model complete an analogy about bodies with the stereotype?

data: items/bistereo_analogy_tuples.tsv, bistereo_analogy.yaml (Table 7, section 4.3, J.1; ours)
languages: en; others with a person's own `items` and `groups`
paper: BIStereo, sections 3.3 and 4.3, appendices D, J and K.2
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from string import Formatter
from typing import Any

from lm_eval_bias.benchmarks.bistereo.blocks import SEED
from lm_eval_bias.data.options import TaskOptions
from lm_eval_bias.data.schema import (
    Data,
    Fields,
    ItemFile,
    Named,
    Problems,
    Row,
    Rows,
    Several,
    Text,
    load,
    not_the_whole,
    one_of_groups,
)
from lm_eval_bias.harness.dataset import CustomDataset, Document, checks, in_proportion, in_turns

SENTIMENTS = ("positive", "negative")
BOTH = " / "
"""Between the two of a contrast, and of a placebo."""

# ---- The files


def _phrase_problems(data: Data, others: Data) -> Problems:
    for option in ("phrases", "own_phrases"):
        for name, pattern in data.get(option, {}).items():
            try:
                slots = [slot for _, slot, _, _ in Formatter().parse(pattern) if slot is not None]
            except ValueError as error:
                yield (option, name), f"{pattern!r} is no pattern: {error}"
                continue
            if sorted(slots) != ["descriptor", "noun"]:
                problem = f"expected {{descriptor}} and {{noun}}, each once, found {pattern!r}"
                yield (option, name), problem
    counterparts = data["counterparts"]
    positives: dict[str, str] = {}
    for positive, negative in counterparts.items():
        place = ("counterparts", positive)
        if negative in counterparts:
            yield place, f"{negative!r} is positive elsewhere"
        first = positives.setdefault(negative, positive)
        if first != positive:
            yield place, f"{negative!r} is the counterpart of {first!r} too"
    for axis, genders in data["contrasts"].items():
        yield from not_the_whole(("contrasts", axis), axis)
        if axis not in data["phrases"]:
            known = ", ".join(data["phrases"])
            yield ("contrasts", axis), f"no pattern for it in phrases ({known})"
        for gender, contrasts in genders.items():
            yield from not_the_whole(("contrasts", axis, gender), gender)
            for i, contrast in enumerate(contrasts):
                if contrast["advantaged"] == contrast["disadvantaged"]:
                    entry = ("contrasts", axis, gender, i, "disadvantaged")
                    yield entry, "the same as advantaged"
    names = dict.fromkeys(name_of(contrast) for contrast in _contrasts(data))
    for name, texts in data.get("placebos", {}).items():
        yield from one_of_groups(("placebos", name), name, names, "contrasts")
        for i, text in enumerate(texts):
            if len(text.split(BOTH)) != 2:
                yield ("placebos", name, i), f"expected A{BOTH}C, found {text!r}"


def _tuple_problems(rows: Any, others: Data) -> Problems:
    groups = others["groups"]
    for i, row in enumerate(rows):
        yield from one_of_groups((i, "axis"), row["axis"], groups["phrases"], "axes")
    tuples = _by_content(rows)
    for contrast in _contrasts(groups):
        if not _analogies(tuples, groups, contrast):
            problem = (
                "no analogy for {advantaged} and {disadvantaged} ({axis}, {gender}, {noun}): no "
                "positive tuple of the first has its counterpart in a negative tuple of the second"
            )
            yield (), problem.format(**contrast)


FILES = {
    "groups": ItemFile(
        "bistereo_analogy.yaml",
        Fields(
            {"own_phrases": Named(Text(), least=0), "placebos": Named(Several(Text()))},
            phrases=Named(Text()),
            content_free=Several(Text()),
            counterparts=Named(Text()),
            contrasts=Named(
                Named(
                    Rows(
                        Fields(
                            {"printed": Text()},
                            noun=Text(),
                            advantaged=Text(),
                            disadvantaged=Text(),
                        ),
                        unique=["noun", "advantaged", "disadvantaged"],
                    )
                )
            ),
        ),
        _phrase_problems,
        lambda data: {
            "axes": len(data["contrasts"]),
            "contrasts": len(_contrasts(data)),
            "placebos": sum(map(len, data.get("placebos", {}).values())),
            "counterparts": len(data["counterparts"]),
            "content-free phrases": len(data["content_free"]),
        },
    ),
    "items": ItemFile(
        "bistereo_analogy_tuples.tsv",
        Rows(
            Fields(
                {"annotators": Text(), "source": Text()},
                axis=Text(),
                gender=Text(),
                descriptor=Text(),
                noun=Text(),
                attribute=Text(),
                sentiment=Text(SENTIMENTS),
            ),
            unique=["axis", "gender", "descriptor", "noun", "attribute"],
        ),
        _tuple_problems,
        lambda rows: {
            "tuples": len(rows),
            **{f"{s} tuples": sum(row["sentiment"] == s for row in rows) for s in SENTIMENTS},
        },
    ),
}


class AnalogyOptions(TaskOptions):
    files = FILES


# ---- The analogies

# (axis, gender, descriptor, noun, attribute, sentiment) -> the tuple's row
Tuples = Mapping[tuple[str, ...], Row]


def phrase(groups: Data, axis: str, descriptor: str, noun: str) -> str:
    """A group as the analogy names it: "Dark-skinned girl", "Woman in burqa"."""
    pattern = groups.get("own_phrases", {}).get(descriptor, groups["phrases"][axis])
    text = pattern.format(descriptor=descriptor, noun=noun)
    return text[0].upper() + text[1:]


def documents(items: str | None = None, groups: str | None = None) -> list[Document]:
    """Every analogy in all its contexts.

    A and C are of one axis, gender and noun; B is a positive attribute of A, its counterpart a
    negative one of C. Contexts: C itself ("stereotype"), each content-free phrase in its place
    ("content-free"), A and C exchanged ("swapped"), and both orders of A and C of a placebo.
    """
    data = load(FILES, items=items, groups=groups)
    tuples = _by_content(data["items"])
    cells = defaultdict(list)
    shuffle = random.Random(SEED)
    for contrast in _contrasts(data["groups"]):
        analogies = _analogies(tuples, data["groups"], contrast)
        shuffle.shuffle(analogies)  # so that the first ones of the contrasts have different words
        cells[contrast["gender"], contrast["axis"]].append(
            [_contexts(data["groups"], contrast, i, *words) for i, words in enumerate(analogies)]
        )
    contexts = in_proportion([in_turns(columns) for columns in cells.values()])
    return [document for block in contexts for document in block]


def listed(items: str | None = None, groups: str | None = None) -> list[Document]:
    """Each document with the two words in either order. `first`: 1 for the unbiased word."""
    return [
        {**doc, "first": first, "options": doc["choices"][:: 1 if first == 1 else -1]}
        for doc in documents(items, groups)
        for first in (1, 2)
    ]


def _by_content(rows: Sequence[Row]) -> Tuples:
    columns = ("axis", "gender", "descriptor", "noun", "attribute", "sentiment")
    return {tuple(row[column] for column in columns): row for row in rows}


def _contrasts(groups: Data) -> list[Row]:
    return [
        {**contrast, "axis": axis, "gender": gender}
        for axis, genders in groups["contrasts"].items()
        for gender, contrasts in genders.items()
        for contrast in contrasts
    ]


def _analogies(tuples: Tuples, groups: Data, contrast: Row) -> list[tuple[str, str, Row]]:
    """B of each analogy, its counterpart, and the tuple of C's stereotype."""
    axis, gender, noun = (contrast[key] for key in ("axis", "gender", "noun"))
    analogies = []
    for positive, negative in groups["counterparts"].items():
        advantage = (axis, gender, contrast["advantaged"], noun, positive, "positive")
        stereotype = (axis, gender, contrast["disadvantaged"], noun, negative, "negative")
        if advantage in tuples and stereotype in tuples:
            analogies.append((positive, negative, tuples[stereotype]))
    return analogies


def name_of(contrast: Row) -> str:
    return f"{contrast['advantaged']}{BOTH}{contrast['disadvantaged']}"


def _contexts(
    groups: Data, contrast: Row, i: int, positive: str, negative: str, stereotype: Row
) -> list[Document]:
    """i: which analogy of the contrast; its placebos take turns."""
    axis, noun, name = contrast["axis"], contrast["noun"], name_of(contrast)
    a, c = (phrase(groups, axis, contrast[x], noun) for x in ("advantaged", "disadvantaged"))
    free = [("content-free", a, other) for other in groups["content_free"]]
    contexts = [("stereotype", a, c), *free, ("swapped", c, a)]
    if placebos := groups.get("placebos", {}).get(name):
        left, right = placebos[i % len(placebos)].split(BOTH)
        contexts += [("placebo", left, right), ("placebo swapped", right, left)]
    return [
        {
            "analogy": f"{a}: {positive}:: {c}: {negative}",
            "axis": axis,
            "gender": contrast["gender"],
            "contrast": name,
            "counterpart": f"{positive}{BOTH}{negative}",
            "source": "paper" if contrast.get("printed") == positive else "ours",
            "annotators": stereotype.get("annotators", "not annotated"),
            "content_free": len(free),
            "context": context,
            "a": left,
            "b": positive,
            "c": right,
            "unbiased": positive,
            "biased": negative,
            "choices": [positive, negative],
        }
        for context, left, right in contexts
    ]


attention = partial(checks, "bistereo_checks", [[1, -1]], "analogy")


def listed_attention() -> list[Document]:
    return [{**doc, "first": 1, "options": doc["choices"]} for doc in attention()]


build = CustomDataset(documents, checks=attention)
build_listed = CustomDataset(listed, checks=listed_attention)
