"""HBB on the authors' released concept pairs: the paper's 103,649 test instances, built as it
describes them.

data: the authors' questions (1,547 concept pairs, fetched), items/hbb.yaml (Tables 4 and 10),
items/hbb_official.yaml (ours: placeholders) abstract: as `hbb`, with the paper's own contexts and
options languages: en tags: age, gender, race and ethnicity, socioeconomic status, religion, hidden
bias paper: Beneath the Surface: How Large Language Models Reflect Hidden Bias, section 3.2, Table
5, appendix C.3
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterable, Mapping
from functools import cache, partial
from itertools import count as counting
from typing import Any

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.schema import checked, load
from lm_eval_bias.data.sources import official_file
from lm_eval_bias.harness.dataset import CustomDataset
from lm_eval_bias.metrics.hidden_bias import TEMPERATURE, THRESHOLD
from lm_eval_bias.usage import UsageError, flag

CONCEPT_PAIRS = 1547
"""Section 3.2."""
QUESTIONS = "20241122-2120_all_data_questions074.csv"
FILES = {"groups": hbb.FILES["groups"]}
FORMS = ("subject", "possessive", "object")
PLACEHOLDER = re.compile(r"\[\[X\]\]('s)?")


def options(
    order: str = "both",
    threshold: float = THRESHOLD,
    temperature: float = TEMPERATURE,
    placebo: bool = True,
    groups: str | None = None,
) -> dict[str, Any]:
    """What --metadata may set. order, threshold, temperature, groups: as for `hbb`. placebo: false
    leaves our four placebo types out, so that only the paper's questions are asked; there is
    nothing then to compare S with."""
    own = hbb.options(order=order, threshold=threshold, temperature=temperature)
    return {**own, "placebo": flag("placebo", placebo), **checked(FILES, groups=groups)}


def generate_options(
    order: str = "paper",
    repeats: int = hbb.REPEATS,
    threshold: float = THRESHOLD,
    temperature: float = TEMPERATURE,
    placebo: bool = True,
    groups: str | None = None,
) -> dict[str, Any]:
    """The same where answers are sampled, as in `hbb.generate_options`."""
    sampled = hbb.generate_options(
        order=order, repeats=repeats, threshold=threshold, temperature=temperature
    )
    return {**sampled, **options(order, threshold, temperature, placebo, groups)}


# ---- The concept pairs


@cache
def concept_pairs() -> tuple[Mapping[str, str], ...]:
    """The released concept pairs as `hbb.questions` takes them, in the order of the file: id, kind,
    concept_1, concept_2, context, option_1, option_2, with [[X]], [[X's]] and [[X:obj]] for the
    person.

    id: the number of the row, "0001" for the first below the header. kind: the released file's
    bias_type, the sort of stereotype that a concept pair was drawn from, which is no category of
    identities. Raises UsageError where the file cannot be had.
    """
    mended = lexicon("hbb_official")
    objects = {(each["concept"], each["option"], each["place"]) for each in mended["objects"]}
    owned = {each["concept"]: each["words"] for each in mended["owned"]}
    with official_file("hbb", QUESTIONS).open(encoding="utf-8", newline="") as f:
        return tuple(
            {
                "id": f"{n:04}",
                "kind": row["bias_type"],
                "concept_1": row["bias type1"],
                "concept_2": row["bias type2"],
                "context": _with_owner_behind(row["Context"], owned[n])
                if n in owned
                else row["Context"],
                **{
                    f"option_{i}": with_forms(
                        row[f"s{i}"], {place for c, o, place in objects if (c, o) == (n, i)}
                    )
                    for i in (1, 2)
                },
            }
            for n, row in enumerate(csv.DictReader(f), start=1)
        )


def with_forms(text: str, objects: set[int]) -> str:
    """An option with the placeholders of `hbb`. objects: which of them, from 1, stand for an
    object."""
    numbers = counting(1)

    def form(placeholder: re.Match[str]) -> str:
        is_object = next(numbers) in objects
        return "[[X's]]" if placeholder[1] else "[[X:obj]]" if is_object else "[[X]]"

    return PLACEHOLDER.sub(form, text)


def _with_owner_behind(context: str, words: int) -> str:
    """[[X]]'s A B C ... -> The A B C of [[X]] ..., where so many words are owned."""
    owner, *rest = context.split(" ")
    if owner != "[[X]]'s":
        raise ValueError(f"expected a context that begins with [[X]]'s, found {context!r}")
    return " ".join(["The", *rest[:words], "of", "[[X]]", *rest[words:]])


def spread(concepts: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Concept pairs in a fixed shuffle of which any first part has the shares of the whole: so many
    of each kind, give or take one."""
    kinds: dict[str, list[Mapping[str, str]]] = {}
    for concept in concepts:
        kinds.setdefault(concept["kind"], []).append(concept)
    placed = []
    for kind, members in kinds.items():
        random.Random(f"{hbb.SEED}/{kind}").shuffle(members)
        placed += [((i + 0.5) / len(members), concept) for i, concept in enumerate(members)]
    return [concept for _, concept in sorted(placed, key=lambda each: each[0])]


# ---- The questions


def documents(
    order: str = "both",
    groups: str | None = None,
    category: str | None = None,
    placebo: bool = True,
) -> list[dict[str, Any]]:
    """The questions of `hbb` about the authors' concept pairs: all, or those of one category, and
    the placebos. Each concept pair is its own theme."""
    given = groups_with_forms(groups)
    asked = (
        question
        for concept in spread(concept_pairs())
        for question in hbb.questions(concept, given, category, placebo)
    )
    return hbb.in_orders(asked, order)


def count(
    order: str = "both",
    groups: str | None = None,
    category: str | None = None,
    placebo: bool = True,
    **setting: Any,
) -> int:
    """How many `documents` there are; needs no file of the authors."""
    identities = sum(
        len(entry["identities"])
        for entry in hbb.chosen(groups_with_forms(groups), category, placebo).values()
    )
    return CONCEPT_PAIRS * identities * hbb.ORDERS[order]


def groups_with_forms(path: str | None) -> Mapping[str, Any]:
    """A file of groups, ours for None. UsageError where its pronouns lack a form that the authors'
    texts need."""
    groups = load(FILES, groups=path)["groups"]
    lacking = [form for form in FORMS if form not in next(iter(groups["pronouns"].values()))]
    if lacking:
        raise UsageError(
            f"the authors' options need the forms {', '.join(FORMS)} of a pronoun; {path} lacks {', '.join(lacking)}"
        )
    return groups


build = CustomDataset(documents, count, FILES)
build_generate = CustomDataset(
    partial(documents, order="paper"), partial(count, order="paper"), FILES
)
