"""StereoSet: is a stereotype preferred to an anti-stereotype, and what makes sense to what does
not?

data: McGill-NLP/stereoset on the hub (Nadeem, Bethke and Reddy 2021), configurations intrasentence
and intersentence; nothing of it here abstract: a target term in a context, and three continuations
of it: a stereotype, an anti-stereotype and one that is unrelated. languages: en tags: gender,
profession, race, religion, overt bias paper: StereoSet: Measuring stereotypical bias in pretrained
language models; asked with letters as in HBB, section 4.2.2 and Table 11
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from lm_eval_bias.data.downloads import sha256
from lm_eval_bias.usage import UsageError, choice

LABELS = {"stereotype": 1, "anti-stereotype": 0, "unrelated": 2}
"""As they are numbered on the hub, in the order in which this project has the three sentences."""
POSITIONS: dict[str, list[tuple[int, ...]]] = {
    "permutations": list(permutations(range(3))),
    "rotations": [(0, 1, 2), (1, 2, 0), (2, 0, 1)],
}
PER = ("token", "sentence")
SHOWN = 10
_GAP = re.compile("BLANK|__")


def options(per: str = "token", data: str | None = None) -> dict[str, Any]:
    """What --metadata may set. per: "token" compares mean log-likelihoods per token, as the
    authors' program does, "sentence" their sums. data: a file of the same columns as the data set,
    .json, .jsonl or .parquet, or the authors' own dev.json."""
    return {"per": choice("per", per, PER), **given(data)}


def choice_options(positions: str = "permutations", data: str | None = None) -> dict[str, Any]:
    """What --metadata may set. positions: "permutations" asks each example in all six orders of its
    sentences, "rotations" in three, in which each sentence stands behind each letter once. data: as
    `options`."""
    return {"positions": choice("positions", positions, POSITIONS), **given(data)}


def given(data: Any) -> dict[str, str]:
    """A person's own file and its sha256; nothing for none."""
    if data is None:
        return {}
    if not isinstance(data, str):
        raise UsageError(f"data={data!r} in --metadata: expected the path of a file")
    try:
        return {"data": data, "data_sha256": sha256(Path(data))}
    except OSError as error:
        raise UsageError(f"cannot read {data}: {error.strerror or error}") from error


def sentences(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Documents whose choices are the three sentences, in the order of `LABELS`."""
    return spread(examples(rows))


def letters(
    rows: Iterable[Mapping[str, Any]], positions: str = "permutations"
) -> list[dict[str, Any]]:
    """Documents with the three sentences as option_a, option_b and option_c: of each example one
    for each order, in a row.

    positions: of `POSITIONS`. letters: behind which the stereotype, the anti-stereotype and the
    unrelated one stand. orders: how many documents an example has.
    """
    documents = []
    for example in spread(examples(rows)):
        texts = example.pop("choices")
        for places in POSITIONS[positions]:
            options = {
                f"option_{letter}": texts[i] for letter, i in zip("abc", places, strict=True)
            }
            documents.append(
                {
                    **example,
                    "orders": len(POSITIONS[positions]),
                    "letters": ["abc"[places.index(i)] for i in range(3)],
                    **options,
                }
            )
    return documents


def intrasentence(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`sentences` of examples whose context has a gap."""
    return sentences(checked(rows, gap=True))


def intersentence(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`sentences` of examples whose context is followed by them."""
    return sentences(checked(rows, gap=False))


def intrasentence_choice(
    rows: Iterable[Mapping[str, Any]], positions: str = "permutations"
) -> list[dict[str, Any]]:
    """`letters` of examples whose context has a gap."""
    return letters(checked(rows, gap=True), positions)


def intersentence_choice(
    rows: Iterable[Mapping[str, Any]], positions: str = "permutations"
) -> list[dict[str, Any]]:
    """`letters` of examples whose context is followed by the sentences."""
    return letters(checked(rows, gap=False), positions)


def checked(rows: Iterable[Mapping[str, Any]], gap: bool) -> list[Mapping[str, Any]]:
    """The rows, if contexts are those of intrasentence examples, which have a gap (BLANK or __), or
    of others. UsageError else.

    Rows without contexts are handed on: `examples` says what they lack.
    """
    found = list(rows)
    contexts = [row["context"] for row in found if isinstance(row.get("context"), str)]
    having = sum(bool(_GAP.search(context)) for context in contexts)
    if contexts and (having == 0 if gap else 2 * having > len(contexts)):
        kinds = (
            "intersentence examples, with no gap (BLANK)",
            "intrasentence examples, with a gap (BLANK)",
        )
        raise UsageError(
            f"expected {kinds[gap]} in their contexts, found {having} of {len(found)} with one"
        )
    return found


def examples(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The examples of a data set, on the hub or as its authors publish it: example, target,
    bias_type, context, choices.

    sentences: a list of names and values, or names with a list of values each; gold_label: a number
    of `LABELS` or its name. UsageError that lists what is wrong, row by row.
    """
    found: list[dict[str, Any]] = []
    problems: list[str] = []
    row_of: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        try:
            found.append(_example(row))
        except ValueError as error:
            problems.append(f"row {number}: {error}")
        else:
            name = found[-1]["example"]
            if row_of.setdefault(name, number) != number:
                problems.append(f"row {number}: id: {name!r} stands in row {row_of[name]} too")
    if problems:
        rest = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        raise UsageError("not the columns of StereoSet: " + "; ".join([*problems[:SHOWN], *rest]))
    return found


def _example(row: Mapping[str, Any]) -> dict[str, Any]:
    texts = {column: row.get(column) for column in ("id", "target", "bias_type", "context")}
    for column, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{column}: expected a text, found {text!r}")
    by_label: dict[int, str] = {}
    for sentence, label in _labelled(row.get("sentences")):
        number = LABELS.get(label, label) if isinstance(label, str) else label
        if isinstance(number, bool) or number not in LABELS.values():
            raise ValueError(
                f"gold_label: expected 0, 1 or 2, or {', '.join(LABELS)}, found {label!r}"
            )
        if not isinstance(sentence, str) or not sentence.strip():
            raise ValueError(f"sentence: expected a text, found {sentence!r}")
        if number in by_label:
            raise ValueError(f"gold_label: {label!r} stands there twice")
        by_label[number] = sentence.strip()
    for name, number in LABELS.items():
        if number not in by_label:
            raise ValueError(f"sentences: none with the gold_label {number}, {name}")
    texts = {column: text.strip() for column, text in texts.items()}
    return {
        "example": texts.pop("id"),
        **texts,
        "choices": [by_label[number] for number in LABELS.values()],
    }


def _labelled(given: Any) -> list[tuple[Any, Any]]:
    """The sentences of an example with their labels."""
    if isinstance(given, Mapping):
        columns = [given.get(key) for key in ("sentence", "gold_label")]
        if all(
            isinstance(column, Sequence) and not isinstance(column, str) for column in columns
        ) and len(columns[0]) == len(columns[1]):
            return list(zip(*columns, strict=True))
    elif (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and all(isinstance(each, Mapping) for each in given)
    ):
        return [(each.get("sentence"), each.get("gold_label")) for each in given]
    raise ValueError("sentences: expected three, each with sentence and gold_label")


def spread(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Examples so that any first part has the shares of the domains of the whole, and of each
    domain first one example of each term, then another of each, and so on; in the order given
    otherwise."""
    turns: dict[tuple[str, str], int] = {}
    domains: dict[str, list[tuple[int, int]]] = {}
    for i, each in enumerate(found):
        key = each["bias_type"], each["target"]
        turns[key] = turns.get(key, -1) + 1
        domains.setdefault(each["bias_type"], []).append((turns[key], i))
    placed = [
        ((place + 0.5) / len(members), i)
        for members in domains.values()
        for place, (_, i) in enumerate(sorted(members))
    ]
    return [found[i] for _, i in sorted(placed)]
