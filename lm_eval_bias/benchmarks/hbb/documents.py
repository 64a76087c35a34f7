"""HBB, the Hidden Bias Benchmark: does the preferred continuation change when only the described
identity changes?

data: items/hbb_concepts.tsv (ours), items/hbb.yaml (Tables 4 and 10; placebo types ours)
languages: en; others with a person's own `items` and `groups`
paper: Beneath the Surface: How Large Language Models Reflect Hidden Bias, sections 3 and 4
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import zip_longest
from math import comb
from typing import Any, ClassVar

from lm_eval_bias.benchmarks.hbb.concepts_documents import TEXTS, TOKEN, form_of, unfit
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.options import Option, TaskOptions
from lm_eval_bias.data.schema import (
    Data,
    Fields,
    Flag,
    ItemFile,
    Named,
    Problems,
    Row,
    Rows,
    Several,
    Text,
    load,
    not_the_whole,
)
from lm_eval_bias.harness.dataset import CustomDataset, Document, checks
from lm_eval_bias.metrics.hidden_bias import TEMPERATURE, THRESHOLD
from lm_eval_bias.usage import UsageError, choice, number, whole_number

SEED = 20250601
ORDERS = {"both": 2, "paper": 1}
PARTS = 4
REPEATS = 10
"""Section 3.3: at least ten times."""
COLDEST, HOTTEST = 0.01, 100.0
THAT_OF_THE_NAME = "that of the name"
# What may stand between the end of a sentence, or the beginning of the text, and its first word.
_SENTENCE_START = re.compile(r"(?:^|[.!?]\s+|[.][\"”’“«»)]+\s+)[\"“‘„«»(]*$")

# ---- The files


def _names(groups: Data) -> dict[str, str]:
    return {
        name: pronoun
        for members in groups.get("names", {}).values()
        for name, pronoun in members.items()
    }


def _group_problems(data: Data, others: Data) -> Problems:
    pronouns = data["pronouns"]
    first = next(iter(pronouns))
    for pronoun, forms in pronouns.items():
        if "subject" not in forms:
            yield ("pronouns", pronoun), "subject is missing, the form of [[X]]"
        for form in pronouns[first]:
            if form not in forms:
                yield ("pronouns", pronoun), f"{form} is missing, which {first} has"
    unknown = f"is not one of the pronouns ({', '.join(pronouns)})"
    for group, members in data.get("names", {}).items():
        for name, pronoun in members.items():
            if pronoun not in pronouns:
                yield ("names", group, name), f"{pronoun!r} {unknown}"
    placebo = {entry["category"] for entry in data["types"].values() if entry.get("placebo")}
    for type_, entry in data["types"].items():
        of_type, category = ("types", type_), entry["category"]
        yield from not_the_whole((*of_type, "category"), category)
        if category in placebo and not entry.get("placebo"):
            cause = f"placebo: true is missing, which another type of the category {category} has"
            yield of_type, cause
        used = set()
        for identity, person in entry["identities"].items():
            place = (*of_type, "identities", identity)
            named = "{name}" in person["descriptor"]
            if named and not _names(data):
                yield (*place, "descriptor"), "{name} stands here, but there are no names"
            pronoun = person.get("pronoun", THAT_OF_THE_NAME)
            if pronoun in pronouns or (named and "pronoun" not in person):
                used.add(pronoun)
            elif "pronoun" in person:
                yield (*place, "pronoun"), f"{pronoun!r} {unknown}"
            else:
                cause = "pronoun is missing; without it the descriptor must hold {name}, whose "
                yield place, f"{cause}pronoun is taken"
        if len(used) > 1 and not entry.get("gendered"):
            yield (
                (*of_type, "identities"),
                f"the pronouns differ ({' and '.join(sorted(used))}), and with them the options: "
                "give all the same, or the type gendered: true where that is meant",
            )


def concept_problems(rows: Any, others: Data) -> Problems:
    """What makes concept pairs unfit. others: the content of the file of groups."""
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
        concept_problems,
        lambda rows: {"concept pairs": len(rows)},
    ),
}


class SentenceOptions(TaskOptions):
    files: ClassVar = {"groups": FILES["groups"]}
    threshold = Option(
        THRESHOLD, number(0, 100), "an instance with S, from 0 to 100, at or above it is biased"
    )


class LetterOptions(SentenceOptions):
    order = Option(
        "both",
        choice(ORDERS),
        "both: each question with either option first; paper: option 1 first",
    )
    temperature = Option(
        TEMPERATURE, number(COLDEST, HOTTEST), "at which the letters are or would be drawn"
    )


class Sampled(TaskOptions):
    order = LetterOptions.order._replace(default="paper")
    repeats = Option(REPEATS, whole_number(1, 1000), "answers to each question in each order")


class HBBOptions(LetterOptions):
    files: ClassVar = FILES


class GenerateOptions(Sampled, HBBOptions):
    pass


# ---- The questions


def _language(groups: Data) -> Data:
    """How words behave in a sentence; by default as in English."""
    return {**lexicon("hbb")["language"], **groups.get("language", {})}


def describe(context: str, descriptor: str, pronoun: str, groups: Data) -> str:
    """Put a descriptor into a context sentence. groups: the content of their file."""
    before, _, after = context.partition("[[X]]")
    language = _language(groups)
    first, _, rest = descriptor.partition(" ")
    if rest and first in language["lowered"] and not _SENTENCE_START.search(before):
        descriptor = f"{first[0].lower()}{first[1:]} {rest}"
    if (
        language["apposition_comma"]
        and ", " in descriptor
        and not after.startswith(tuple(",.;:!?"))
    ):
        descriptor += ","
    return refer(before, pronoun, groups) + descriptor + refer(after, pronoun, groups)


def refer(text: str, pronoun: str, groups: Data) -> str:
    forms = groups["pronouns"][pronoun]
    capitals = _language(groups)["sentence_capitals"]

    def form(token: re.Match[str]) -> str:
        word = forms[form_of(token, forms)]
        starts = capitals and _SENTENCE_START.search(text[: token.start()])
        return word[:1].upper() + word[1:] if starts else word

    return TOKEN.sub(form, text)


@cache
def edit(one: str, two: str) -> list[int]:
    """By how many words two descriptors differ, and by how many characters one is longer. A
    replaced word counts two, and one that a descriptor lacks twice four."""
    words, others = (Counter(re.findall(r"\w+", text.lower())) for text in (one, two))
    changed = sum((words[word] - others[word]) ** 2 for word in words | others)
    return [changed, abs(len(one) - len(two))]


def types_asked(groups: Data, category: str | None, placebo: bool = True) -> dict[str, Data]:
    """The descriptor types of a category, or all. UsageError for an unknown category."""
    types = groups["types"].items()
    known = dict.fromkeys(entry["category"] for _, entry in types if not entry.get("placebo"))
    if category is not None and category not in known:
        raise UsageError(
            f"the groups have no category {category!r}; expected one of {', '.join(known)}"
        )
    return {
        type_: entry
        for type_, entry in types
        if (placebo if entry.get("placebo") else category in (None, entry["category"]))
    }


def described(
    concept: Row, groups: Data, types: Mapping[str, Data]
) -> Iterator[tuple[Document, str]]:
    """The questions of a concept pair without options, each with its person's pronoun.

    All identities of one type share the name.
    """
    names = _names(groups)
    for type_, entry in types.items():
        name = random.Random(f"{SEED}/{concept['id']}/{type_}").choice(list(names)) if names else ""
        for identity, person in entry["identities"].items():
            pronoun = person["pronoun"] if "pronoun" in person else names[name]
            descriptor = person["descriptor"].replace("{name}", name)
            question = {
                "concept": concept["id"],
                "instances": 0 if entry.get("placebo") else comb(len(entry["identities"]), 2),
                "theme": concept.get("theme", concept["id"]),
                "concept_1": concept["concept_1"],
                "concept_2": concept["concept_2"],
                "favourable": int(concept.get("favourable", 0)),
                "category": entry["category"],
                "type": type_,
                "place": list(groups["types"]).index(type_),
                "placebo": bool(entry.get("placebo")),
                "identities": list(entry["identities"]),
                "identity": identity,
                # The options change with a gendered type, so no number of words is its edit.
                "changed": []
                if entry.get("gendered")
                else [
                    edit(person["descriptor"], other["descriptor"])
                    for other in entry["identities"].values()
                ],
                "context": describe(concept["context"], descriptor, pronoun, groups),
            }
            yield question, pronoun


def portions(
    concepts: Iterable[Row], types: Mapping[str, Data]
) -> Iterator[tuple[Row, dict[str, Data]]]:
    """Concept pairs with the types to ask: the first pair of each theme with a quarter of the
    types, then with the other quarters, then the second pair, so that any beginning is a fair
    sample. Each quarter has types of each category, and other types for the next theme."""
    themes = defaultdict(list)
    for concept in concepts:
        themes[concept.get("theme", concept["id"])].append(concept)
    seen: Counter[str] = Counter()
    places = []
    for type_, entry in types.items():
        places.append((seen[entry["category"]], type_))
        seen[entry["category"]] += 1
    for turn in zip_longest(*themes.values()):
        for part in range(PARTS):
            for i, concept in enumerate(turn):
                chosen = {t: types[t] for place, t in places if (place + i) % PARTS == part}
                if concept and chosen:
                    yield concept, chosen


def asked(
    concepts: Iterable[Row], groups: Data, types: Mapping[str, Data], order: str
) -> list[Document]:
    """The questions of concept pairs; with order "both" each twice in a row."""
    documents = []
    for concept in concepts:
        for question, pronoun in described(concept, groups, types):
            one, two = (refer(concept[option], pronoun, groups) for option in TEXTS[1:])
            for first, a, b in ((1, one, two), (2, two, one))[: ORDERS[order]]:
                documents.append({**question, "first": first, "option_a": a, "option_b": b})
    return documents


def documents(
    order: str = "both",
    items: str | None = None,
    groups: str | None = None,
    category: str | None = None,
) -> list[Document]:
    """All questions, or those of one category and the placebos."""
    content = load(FILES, items=items, groups=groups)
    types = types_asked(content["groups"], category)
    return [
        document
        for concept, some in portions(content["items"], types)
        for document in asked([concept], content["groups"], some, order)
    ]


attention = partial(checks, "hbb_checks", [[1, -1]])
build = CustomDataset(documents, checks=attention)
