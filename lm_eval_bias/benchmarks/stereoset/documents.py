"""StereoSet: is a stereotype preferred to an anti-stereotype, and sense to nonsense?

data: McGill-NLP/stereoset on the hub
languages: en
paper: Nadeem, Bethke and Reddy 2021; asked with letters as in HBB, section 4.2.2 and Table 11
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

from lm_eval_bias.data.downloads import sha256
from lm_eval_bias.exhibit import Row
from lm_eval_bias.harness.dataset import Document
from lm_eval_bias.usage import Options, UsageError, choice, wrong

LABELS = {"stereotype": 1, "anti-stereotype": 0, "unrelated": 2}
"""As they are numbered on the hub, in the order in which this project has the three sentences."""
ORDERS = list(permutations(range(3)))
PER = ("token", "sentence")
SHOWN = 10
_GAP = re.compile("BLANK|__")


def options(per: str = "token", data: str | None = None) -> Options:
    """What --metadata may set. per: "token" compares mean log-likelihoods per token, as the
    authors' program does, "sentence" their sums. data: a file with the columns of the data set."""
    return {"per": choice("per", per, PER), **_own_file(data)}


def choice_options(data: str | None = None) -> Options:
    """What --metadata may set. data: as in `options`."""
    return _own_file(data)


def _own_file(data: Any) -> dict[str, str]:
    """A person's own file and its sha256; nothing for None."""
    if data is None:
        return {}
    if not isinstance(data, str):
        raise wrong("data", data, "the path of a file")
    return {"data": data, "data_sha256": sha256(Path(data))}


def sentences(gap: bool, rows: Iterable[Row]) -> list[Document]:
    """Documents whose choices are the three sentences, in the order of `LABELS`."""
    return spread(examples(checked(rows, gap)))


def letters(gap: bool, rows: Iterable[Row]) -> list[Document]:
    """Documents with the sentences as option_a, option_b and option_c: each example in all orders.

    letters: of stereotype, anti-stereotype and unrelated sentence. orders: documents of an example.
    """
    documents = []
    for example in sentences(gap, rows):
        texts = example.pop("choices")
        documents += [
            {
                **example,
                "orders": len(ORDERS),
                "letters": ["abc"[places.index(i)] for i in range(3)],
                **{f"option_{letter}": texts[i] for letter, i in zip("abc", places, strict=True)},
            }
            for places in ORDERS
        ]
    return documents


# The tasks' `process_docs`: contexts of intrasentence examples have a gap.
intrasentence, intersentence = partial(sentences, True), partial(sentences, False)
intrasentence_choice, intersentence_choice = partial(letters, True), partial(letters, False)


def checked(rows: Iterable[Row], gap: bool) -> list[Row]:
    """The rows. UsageError if contexts have a gap (BLANK or __) where they should not, or none."""
    rows = list(rows)
    contexts = [row["context"] for row in rows if isinstance(row.get("context"), str)]
    having = sum(bool(_GAP.search(context)) for context in contexts)
    if contexts and (having == 0 if gap else 2 * having > len(contexts)):
        expected = (
            "intrasentence examples, with a gap" if gap else "intersentence examples, with no gap"
        )
        raise UsageError(
            f"expected {expected} (BLANK) in their contexts, found {having} of {len(rows)} with one"
        )
    return rows


def examples(rows: Iterable[Row]) -> list[Document]:
    """The examples of a data set. UsageError that lists what is wrong, row by row."""
    documents: list[Document] = []
    problems: list[str] = []
    row_of: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        try:
            document = _example(row)
        except ValueError as error:
            problems.append(f"row {number}: {error}")
            continue
        documents.append(document)
        name = document["example"]
        if row_of.setdefault(name, number) != number:
            problems.append(f"row {number}: id: {name!r} stands in row {row_of[name]} too")
    if problems:
        rest = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        raise UsageError("not the columns of StereoSet: " + "; ".join([*problems[:SHOWN], *rest]))
    return documents


def _example(row: Row) -> Document:
    def text(column: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{column}: expected a text, found {value!r}")
        return value.strip()

    texts = {column: text(column, row.get(column)) for column in ("target", "bias_type", "context")}
    sentences, given = _labelled(row.get("sentences"))
    labels = [LABELS.get(label, label) if isinstance(label, str) else label for label in given]
    if sorted(labels, key=repr) != [0, 1, 2]:
        expected = f"0, 1 and 2, or {', '.join(LABELS)}"
        raise ValueError(f"gold_label: expected {expected}, once each, found {list(given)}")
    by_label = dict(zip(labels, sentences, strict=True))
    return {
        "example": text("id", row.get("id")),
        **texts,
        "choices": [text("sentence", by_label[label]) for label in LABELS.values()],
    }


def _labelled(sentences: Any) -> tuple[list[Any], list[Any]]:
    """The sentences with their labels: two lists on the hub, a list of sentences in the authors'
    file."""
    if isinstance(sentences, Mapping):
        texts, labels = sentences.get("sentence"), sentences.get("gold_label")
        if isinstance(texts, list) and isinstance(labels, list) and len(texts) == len(labels):
            return texts, labels
    elif isinstance(sentences, list) and all(
        isinstance(sentence, Mapping) for sentence in sentences
    ):
        texts = [sentence.get("sentence") for sentence in sentences]
        return texts, [sentence.get("gold_label") for sentence in sentences]
    raise ValueError("sentences: expected three, each with sentence and gold_label")


def spread(documents: Sequence[Document]) -> list[Document]:
    """Documents in an order whose first parts have the domains' shares, and terms in turn."""
    turns: Counter[tuple[str, str]] = Counter()
    domains: dict[str, list[tuple[int, int]]] = {}
    for i, document in enumerate(documents):
        domain, term = document["bias_type"], document["target"]
        domains.setdefault(domain, []).append((turns[domain, term], i))
        turns[domain, term] += 1
    placed = [
        ((place + 0.5) / len(members), i)
        for members in domains.values()
        for place, (_, i) in enumerate(sorted(members))
    ]
    return [documents[i] for _, i in sorted(placed)]
