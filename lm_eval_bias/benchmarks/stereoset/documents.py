"""StereoSet: is a stereotype preferred to an anti-stereotype, and sense to nonsense?

data: McGill-NLP/stereoset on the hub
languages: en
paper: Nadeem, Bethke and Reddy 2021; asked with letters as in HBB, section 4.2.2 and Table 11
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any

from lm_eval_bias.data.options import Option, TaskOptions
from lm_eval_bias.data.rows import Row, documents_of
from lm_eval_bias.harness.dataset import Document, in_proportion
from lm_eval_bias.usage import UsageError, choice, path

LABELS = {"stereotype": 1, "anti-stereotype": 0, "unrelated": 2}
"""As they are numbered on the hub, in the order in which this project has the three sentences."""
ORDERS = list(permutations(range(3)))
_GAP = re.compile("BLANK|__")


class ChoiceOptions(TaskOptions):
    data = Option(None, path, "a file with the columns of the data set, in its place")


class SentenceOptions(ChoiceOptions):
    per = Option(
        "token",
        choice(("token", "sentence")),
        "token compares mean log-likelihoods per token, as the authors' program does; sentence "
        "their sums",
    )


def sentences(gap: bool, rows: Iterable[Row]) -> list[Document]:
    """Documents whose choices are the three sentences, in the order of `LABELS`. UsageError if
    contexts have a gap (BLANK or __) where they should not, or none."""
    rows = list(rows)
    contexts = [row["context"] for row in rows if isinstance(row.get("context"), str)]
    having = sum(bool(_GAP.search(context)) for context in contexts)
    if contexts and (having == 0 if gap else 2 * having > len(contexts)):
        part, article = ("intra", "a") if gap else ("inter", "no")
        raise UsageError(
            f"expected {part}sentence examples, with {article} gap (BLANK) in their contexts, "
            f"found {having} of {len(rows)} with one"
        )
    return spread(documents_of(rows, _example, "example", "StereoSet"))


def letters(gap: bool, rows: Iterable[Row]) -> list[Document]:
    """Documents with the sentences as option_a, option_b and option_c: each example in all orders.

    letters: of stereotype, anti-stereotype and unrelated sentence. orders: documents of an example.
    """
    documents = []
    for example in sentences(gap, rows):
        texts = example.pop("choices")
        for places in ORDERS:
            places_of = ["abc"[places.index(i)] for i in range(3)]
            shown = {f"option_{x}": texts[i] for x, i in zip("abc", places, strict=True)}
            documents.append({**example, "orders": len(ORDERS), "letters": places_of, **shown})
    return documents


# The tasks' `process_docs`: contexts of intrasentence examples have a gap.
intrasentence, intersentence = partial(sentences, True), partial(sentences, False)
intrasentence_choice, intersentence_choice = partial(letters, True), partial(letters, False)


def _example(row: Row) -> Document:
    def text(column: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{column}: expected a text, found {value!r}")
        return value.strip()

    texts = {column: text(column, row.get(column)) for column in ("target", "bias_type", "context")}
    labelled = _labelled(row.get("sentences"))
    given = [label for label, _ in labelled]
    labels = [LABELS.get(label, label) if isinstance(label, str) else label for label in given]
    if sorted(labels, key=repr) != [0, 1, 2]:
        expected = f"0, 1 and 2, or {', '.join(LABELS)}"
        raise ValueError(f"gold_label: expected {expected}, once each, found {given}")
    by_label = {label: sentence for label, (_, sentence) in zip(labels, labelled, strict=True)}
    choices = [text("sentence", by_label[label]) for label in LABELS.values()]
    longer = len(choices[0]) - len(choices[1])
    return {"example": text("id", row.get("id")), **texts, "longer": longer, "choices": choices}


def _labelled(sentences: Any) -> list[tuple[Any, Any]]:
    """(label, sentence) of each: two lists on the hub, a list of sentences in the authors' file."""
    try:
        if isinstance(sentences, Mapping):
            return list(zip(sentences["gold_label"], sentences["sentence"], strict=True))
        return [(sentence["gold_label"], sentence["sentence"]) for sentence in sentences]
    except (KeyError, TypeError, ValueError):
        raise ValueError("sentences: expected three, each with sentence and gold_label") from None


def spread(documents: Sequence[Document]) -> list[Document]:
    """Documents in an order whose first parts have the domains' shares, and terms in turn."""
    turns: Counter[tuple[str, str]] = Counter()
    domains = defaultdict(list)
    for i, document in enumerate(documents):
        term = document["bias_type"], document["target"]
        domains[term[0]].append((turns[term], i))
        turns[term] += 1
    return in_proportion(
        [[documents[i] for _, i in sorted(members)] for members in domains.values()]
    )
