"""HBB, the Hidden Bias Benchmark: does the preferred continuation change when only the described
identity changes?

data: items/hbb_concepts.tsv (ours), items/hbb.yaml (Tables 4 and 10; placebo types ours) abstract:
questions with two continuations, each of which hides one of two opposite concepts in behaviour,
about described identities. languages: en; others with a person's own `items` and `groups` tags:
age, gender, race and ethnicity, socioeconomic status, religion, hidden bias paper: Beneath the
Surface: How Large Language Models Reflect Hidden Bias, sections 3 and 4, appendices C.3 and D.1
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from lm_eval_bias.benchmarks.hbb.concepts_documents import TOKEN, unfit
from lm_eval_bias.benchmarks.hbb.concepts_documents import form as form_of
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.schema import (
    Fields,
    Flag,
    Found,
    ItemFile,
    Named,
    Rows,
    Several,
    Text,
    checked,
    load,
    not_the_whole,
)
from lm_eval_bias.harness.dataset import CustomDataset
from lm_eval_bias.metrics.hidden_bias import TEMPERATURE, THRESHOLD
from lm_eval_bias.usage import UsageError, choice, number, whole_number

SEED = 20250601
ORDERS = {"both": 2, "paper": 1}
REPEATS = 10
"""Section 3.3: at least ten times."""
COLDEST, HOTTEST = 0.01, 100.0
THAT_OF_THE_NAME = "that of the name"
# What may stand between the end of a sentence, or the beginning of the text, and its first word.
_SENTENCE_START = re.compile(r"(?:^|[.!?]\s+|[.][\"”’“«»)]+\s+)[\"“‘„«»(]*$")

# ---- The files


def _pronoun(described: Mapping[str, str]) -> str | None:
    """The pronoun of an identity, or that it is the one of the name drawn; None where it has
    neither."""
    return described.get(
        "pronoun", THAT_OF_THE_NAME if "{name}" in described["descriptor"] else None
    )


def _group_problems(data: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[Found]:
    pronouns = data["pronouns"]
    names = _names(data)
    first = next(iter(pronouns))
    for pronoun, forms in pronouns.items():
        if "subject" not in forms:
            yield ("pronouns", pronoun), "subject is missing, the form of [[X]]"
        for form in pronouns[first]:
            if form not in forms:
                yield ("pronouns", pronoun), f"{form} is missing, which {first} has"
    for group, members in data.get("names", {}).items():
        for name, pronoun in members.items():
            if pronoun not in pronouns:
                yield (
                    ("names", group, name),
                    f"{pronoun!r} is not one of the pronouns ({', '.join(pronouns)})",
                )
    placebo = {entry["category"] for entry in data["types"].values() if entry.get("placebo")}
    for type_, entry in data["types"].items():
        yield from not_the_whole(("types", type_, "category"), entry["category"])
        if entry["category"] in placebo and not entry.get("placebo"):
            yield (
                ("types", type_),
                f"placebo: true is missing, which another type of the category {entry['category']} has",
            )
        given = {_pronoun(described) for described in entry["identities"].values()} & {
            *pronouns,
            THAT_OF_THE_NAME,
        }
        if len(given) > 1 and not entry.get("gendered"):
            cause = (
                f"the pronouns differ ({' and '.join(sorted(given))}), and with them the options"
            )
            yield (
                ("types", type_, "identities"),
                f"{cause}: give all the same, or the type gendered: true where that is meant",
            )
        for identity, described in entry["identities"].items():
            place = ("types", type_, "identities", identity)
            named = "{name}" in described["descriptor"]
            if named and not names:
                yield (*place, "descriptor"), "{name} stands here, but there are no names"
            if "pronoun" not in described and not named:
                yield (
                    place,
                    "pronoun is missing; without it the descriptor must hold {name}, whose pronoun is taken",
                )
            elif "pronoun" in described and described["pronoun"] not in pronouns:
                yield (
                    (*place, "pronoun"),
                    f"{described['pronoun']!r} is not one of the pronouns ({', '.join(pronouns)})",
                )


def _concept_problems(rows: Any, others: Mapping[str, Any]) -> Iterator[Found]:
    forms = next(iter(others["groups"]["pronouns"].values()))
    for i, row in enumerate(rows):
        for field, _, cause in unfit(row, forms):
            yield (i, field), cause


_IDENTITY = Fields({"pronoun": Text()}, descriptor=Text())
_LANGUAGE = Fields(
    {"lowered": Several(Text(), least=0), "apposition_comma": Flag(), "sentence_capitals": Flag()}
)
FILES = {
    "groups": ItemFile(
        "hbb.yaml",
        Fields(
            {"names": Named(Named(Text())), "language": _LANGUAGE},
            pronouns=Named(Named(Text())),
            types=Named(
                Fields(
                    {"placebo": Flag(), "gendered": Flag()},
                    category=Text(),
                    identities=Named(_IDENTITY, least=2),
                )
            ),
        ),
        _group_problems,
        lambda data: {
            "descriptor types": len(data["types"]),
            "identities": sum(len(entry["identities"]) for entry in data["types"].values()),
            "names": len(_names(data)),
            "pronouns": len(data["pronouns"]),
        },
    ),
    "items": ItemFile(
        "hbb_concepts.tsv",
        Rows(
            Fields(
                {"theme": Text(), "favourable": Text(["0", "1", "2"])},
                id=Text(),
                concept_1=Text(),
                concept_2=Text(),
                context=Text(),
                option_1=Text(),
                option_2=Text(),
            ),
            unique=["id"],
        ),
        _concept_problems,
        lambda rows: {"concept pairs": len(rows)},
    ),
}


def options(
    order: str = "both",
    threshold: float = THRESHOLD,
    temperature: float = TEMPERATURE,
    items: str | None = None,
    groups: str | None = None,
) -> dict[str, Any]:
    """What --metadata may set. order: "both" asks each question with either option first, "paper"
    with option 1 first only. threshold: in points, from 0 to 100; an instance with S at or above it
    counts as biased. temperature: at which the letters would be drawn; S is what unlimited samples
    at it would show. items: a file of concept pairs, with the columns of items/hbb_concepts.tsv.
    groups: a file of descriptor types, names and pronouns, as items/hbb.yaml."""
    return {
        "order": choice("order", order, ORDERS),
        "threshold": number("threshold", threshold, 0, 100),
        "temperature": number("temperature", temperature, COLDEST, HOTTEST),
        **checked(FILES, items=items, groups=groups),
    }


def generate_options(
    order: str = "paper",
    repeats: int = REPEATS,
    threshold: float = THRESHOLD,
    temperature: float = TEMPERATURE,
    items: str | None = None,
    groups: str | None = None,
) -> dict[str, Any]:
    """The same where answers are sampled. order: by default one, as in the paper. repeats: how
    often each question is asked in each order. temperature: at which the answers are drawn."""
    return {
        **options(order, threshold, temperature, items, groups),
        "repeats": whole_number("repeats", repeats, 1),
    }


# ---- The questions


def types() -> Mapping[str, Mapping[str, Any]]:
    """The sixteen descriptor types of Table 10, in its order, and our four placebos: category,
    identities with descriptor and pronoun."""
    return lexicon("hbb")["types"]


def _names(groups: Mapping[str, Any]) -> dict[str, str]:
    """Every name with its pronoun."""
    return {
        name: pronoun
        for members in groups.get("names", {}).values()
        for name, pronoun in members.items()
    }


def _language(groups: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the words do in a sentence; as in English where a file does not say."""
    return {**lexicon("hbb")["language"], **groups.get("language", {})}


def describe(
    context: str, descriptor: str, pronoun: str, groups: Mapping[str, Any] | None = None
) -> str:
    """Put a descriptor for the person into a context sentence, with the comma that closes an
    apposition.

    groups: what a file of groups holds, with the pronouns and the ways of its language; None for
    ours.
    """
    groups = lexicon("hbb") if groups is None else groups
    match = re.search(r"\[\[X\]\]", context)
    if match is None:
        raise ValueError(f"no [[X]] in the context {context!r}")
    before, after = context[: match.start()], context[match.end() :]
    language = _language(groups)
    first, space, rest = descriptor.partition(" ")
    if space and first in language["lowered"] and not _SENTENCE_START.search(before):
        descriptor = f"{first[0].lower()}{first[1:]} {rest}"
    if (
        language["apposition_comma"]
        and ", " in descriptor
        and after[:1] not in (",", ".", ";", ":", "!", "?")
    ):
        descriptor += ","
    return refer(before, pronoun, groups) + descriptor + refer(after, pronoun, groups)


def refer(text: str, pronoun: str, groups: Mapping[str, Any] | None = None) -> str:
    """Replace the tokens for the person by the forms of a pronoun ("she" or "he" of ours), with a
    capital at the start of a sentence."""
    groups = lexicon("hbb") if groups is None else groups
    forms = groups["pronouns"][pronoun]
    capitals = _language(groups)["sentence_capitals"]

    def form(token: re.Match[str]) -> str:
        word = forms[form_of(token, forms)]
        return (
            word[:1].upper() + word[1:]
            if capitals and _SENTENCE_START.search(text[: token.start()])
            else word
        )

    return TOKEN.sub(form, text)


def chosen(
    groups: Mapping[str, Any], category: str | None = None, placebo: bool = True
) -> dict[str, Mapping[str, Any]]:
    """The descriptor types of a category, of all for None, with the placebos or without. UsageError
    for a category that the groups lack."""
    counted = dict.fromkeys(
        entry["category"] for entry in groups["types"].values() if not entry.get("placebo")
    )
    if category is not None and category not in counted:
        raise UsageError(
            f"the groups have no category {category!r}; expected one of {', '.join(counted)}"
        )
    return {
        type_: entry
        for type_, entry in groups["types"].items()
        if (placebo if entry.get("placebo") else category in (None, entry["category"]))
    }


def questions(
    concept: Mapping[str, str],
    groups: Mapping[str, Any] | None = None,
    category: str | None = None,
    placebo: bool = True,
) -> Iterator[dict[str, Any]]:
    """The questions of one concept pair, 58 with our groups, descriptor type by descriptor type:
    `described` with option_1 and option_2."""
    for question, pronoun in described(concept, groups, category, placebo):
        yield {
            **question,
            **{
                option: refer(concept[option], pronoun, groups)
                for option in ("option_1", "option_2")
            },
        }


def described(
    concept: Mapping[str, str],
    groups: Mapping[str, Any] | None = None,
    category: str | None = None,
    placebo: bool = True,
) -> Iterator[tuple[dict[str, Any], str]]:
    """The questions of one concept pair without its options, each with the pronoun of the person
    whom its context describes.

    All identities of one type share the name, which a generator seeded with the concept and the
    type draws from Table 4. category: of the types to ask about, beside the placebos; None for all.
    placebo: whether to ask about those.
    """
    groups = lexicon("hbb") if groups is None else groups
    names = _names(groups)
    asked = chosen(groups, category, placebo)
    counted = [len(entry["identities"]) for entry in asked.values() if not entry.get("placebo")]
    instances = sum(n * (n - 1) // 2 for n in counted)
    for type_, entry in asked.items():
        name = random.Random(f"{SEED}/{concept['id']}/{type_}").choice(list(names)) if names else ""
        for identity, person in entry["identities"].items():
            pronoun = person["pronoun"] if "pronoun" in person else names[name]
            question = {
                "concept": concept["id"],
                "instances": instances,
                "theme": concept.get("theme", concept["id"]),
                "concept_1": concept["concept_1"],
                "concept_2": concept["concept_2"],
                "favourable": int(concept.get("favourable", 0)),
                "category": entry["category"],
                "type": type_,
                "placebo": bool(entry.get("placebo")),
                "identities": list(entry["identities"]),
                "identity": identity,
                "context": describe(
                    concept["context"],
                    person["descriptor"].replace("{name}", name),
                    pronoun,
                    groups,
                ),
            }
            yield question, pronoun


def interleaved(concepts: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """The first concept pair of each theme, then the second of each, and so on; within a round in
    the order given.

    So any first part of them is spread over the themes. A concept pair without a theme is a theme
    of its own.
    """
    turn: Counter[str] = Counter()
    turns = []
    for concept in concepts:
        theme = concept.get("theme", concept["id"])
        turns.append((turn[theme], concept))
        turn[theme] += 1
    return [concept for _, concept in sorted(turns, key=lambda each: each[0])]


def in_orders(asked: Iterable[dict[str, Any]], order: str) -> list[dict[str, Any]]:
    """Questions as they are asked: with order "both" each of them twice in a row, option 1 behind
    the letter a first."""
    documents = []
    for question in asked:
        texts = question.pop("option_1"), question.pop("option_2")
        for first in (1, 2)[: ORDERS[order]]:
            documents.append(
                {
                    **question,
                    "first": first,
                    "option_a": texts[first - 1],
                    "option_b": texts[2 - first],
                }
            )
    return documents


def documents(
    order: str = "both",
    items: str | None = None,
    groups: str | None = None,
    category: str | None = None,
) -> list[dict[str, Any]]:
    """All questions, or those of one category and the placebos, concept pair by concept pair, one
    theme after the other in turns."""
    given = load(FILES, items=items, groups=groups)
    concepts = interleaved(given["items"])
    return in_orders(
        (
            question
            for concept in concepts
            for question in questions(concept, given["groups"], category)
        ),
        order,
    )


build = CustomDataset(documents, files=FILES)
build_generate = CustomDataset(partial(documents, order="paper"), files=FILES)
