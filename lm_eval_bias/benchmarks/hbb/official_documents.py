"""HBB on the authors' released concept pairs: the paper's 103,649 test instances.

data: the authors' questions (1,547 concept pairs, fetched), items/hbb.yaml (Tables 4 and 10),
items/hbb_official.yaml (ours: placeholders)
languages: en
paper: section 3.2, Table 5
"""

import csv
import random
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Any

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.hbb.concepts_documents import object_before
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.options import Option
from lm_eval_bias.data.schema import Data, Row, load
from lm_eval_bias.data.sources import official_file
from lm_eval_bias.harness.dataset import CustomDataset, Document, in_proportion
from lm_eval_bias.usage import UsageError, flag

CONCEPT_PAIRS = 1547
"""Section 3.2."""
QUESTIONS = "20241122-2120_all_data_questions074.csv"
FORMS = ("subject", "possessive", "object")
PLACEHOLDER = re.compile(r"\[\[X\]\]('s)?")


class SentenceOptions(hbb.SentenceOptions):
    placebo = Option(True, flag, "false leaves our placebo types out")


class LetterOptions(SentenceOptions, hbb.LetterOptions):
    pass


class GenerateOptions(hbb.Sampled, LetterOptions):
    pass


# ---- The concept pairs


@cache
def concept_pairs() -> tuple[Row, ...]:
    """The released concept pairs with the fields of `hbb`.

    id: the row's number, from "0001". kind: of the stereotype that the pair was drawn from.
    """
    owned = {repair["concept"]: repair["words"] for repair in lexicon("hbb_official")["owned"]}
    with official_file("hbb", QUESTIONS).open(encoding="utf-8", newline="") as f:
        return tuple(
            {
                "id": f"{n:04}",
                "kind": row["bias_type"],
                "concept_1": row["bias type1"],
                "concept_2": row["bias type2"],
                "context": _with_owner_behind(row["Context"], owned.get(n)),
                "option_1": with_forms(row["s1"]),
                "option_2": with_forms(row["s2"]),
            }
            for n, row in enumerate(csv.DictReader(f), start=1)
        )


def with_forms(text: str) -> str:
    """A sentence with the placeholders of `hbb`. The word before one tells that it is an object."""

    def form(placeholder: re.Match[str]) -> str:
        if placeholder[1]:
            return "[[X's]]"
        return "[[X:obj]]" if object_before(text, placeholder.start()) else "[[X]]"

    return PLACEHOLDER.sub(form, text)


def _with_owner_behind(context: str, words: int | None) -> str:
    """[[X]]'s A B C ... -> The A B C of [[X]] ...; as it is without a number of words."""
    if words is None:
        return context
    _, *rest = context.split(" ")
    return " ".join(["The", *rest[:words], "of", "[[X]]", *rest[words:]])


def spread(concepts: Iterable[Row]) -> list[Row]:
    """A fixed shuffle; any first part has each kind's share."""
    kinds = defaultdict(list)
    for concept in concepts:
        kinds[concept["kind"]].append(concept)
    for kind, members in kinds.items():
        random.Random(f"{hbb.SEED}/{kind}").shuffle(members)
    return in_proportion([*kinds.values()])


# ---- The questions


def documents(
    order: str = "both",
    groups: str | None = None,
    category: str | None = None,
    placebo: bool = True,
) -> list[Document]:
    """The questions of `hbb` about the authors' concept pairs, each its own theme."""
    content, types = content_and_types(groups, category, placebo)
    return hbb.asked(spread(concept_pairs()), content, types, order)


def count(order: str = "both", **asked: Any) -> int:
    """The number of `documents`; needs no file of the authors."""
    _, types = content_and_types(**asked)
    identities = sum(len(entry["identities"]) for entry in types.values())
    return CONCEPT_PAIRS * identities * hbb.ORDERS[order]


def content_and_types(
    groups: str | None = None, category: str | None = None, placebo: bool = True
) -> tuple[Data, dict[str, Data]]:
    """Of a file of groups. UsageError if its pronouns lack a form of `FORMS`."""
    content = load(SentenceOptions.files, groups=groups)["groups"]
    lacking = [form for form in FORMS if form not in next(iter(content["pronouns"].values()))]
    if lacking:
        raise UsageError(
            f"the authors' options need the forms {', '.join(FORMS)} of a pronoun; {groups} lacks "
            f"{', '.join(lacking)}"
        )
    return content, hbb.types_asked(content, category, placebo)


build = CustomDataset(documents, count, checks=hbb.attention)
