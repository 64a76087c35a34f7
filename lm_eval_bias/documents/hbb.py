"""HBB, the Hidden Bias Benchmark: does the preferred continuation change when only the described identity changes?

data: items/hbb_concepts.tsv (ours), items/hbb.yaml (Tables 4 and 10)
abstract: questions with two continuations, each of which hides one of two opposite concepts in behaviour, about described identities.
languages: en
tags: age, gender, race and ethnicity, socioeconomic status, religion, hidden bias
paper: Beneath the Surface: How Large Language Models Reflect Hidden Bias, sections 3 and 4, appendices C.3 and D.1
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from lm_eval_bias.documents.dataset import CustomDataset
from lm_eval_bias.items import lexicon, table
from lm_eval_bias.metrics.hidden_bias import THRESHOLD
from lm_eval_bias.usage import choice, number

SEED = 20250601
ORDERS = {"both": 2, "paper": 1}
_TOKENS = {"[[X]]": "subject", "[[X's]]": "possessive", "[[X:obj]]": "object", "[[X:self]]": "reflexive"}
_TOKEN = re.compile("|".join(re.escape(t) for t in _TOKENS))
# What may stand between the end of a sentence, or the beginning of the text, and its first word.
_SENTENCE_START = re.compile(r"(?:^|[.!?]\s+|[.][\"”’)]+\s+)[\"“‘(]*$")


def options(order: str = "both", threshold: float = THRESHOLD) -> dict[str, Any]:
    """What --metadata may set. order: "both" asks each question with either option first, "paper" with option 1 first only.
    threshold: in points, from 0 to 100; an instance with S at or above it counts as biased."""
    return {"order": choice("order", order, ORDERS), "threshold": number("threshold", threshold, 0, 100)}


def types() -> dict[str, dict[str, Any]]:
    """The sixteen descriptor types of Table 10, in its order: category, and identities with descriptor and pronoun."""
    return lexicon("hbb")["types"]


def describe(context: str, descriptor: str, pronoun: str) -> str:
    """Put a descriptor for the person into a context sentence, with the comma that closes an apposition."""
    match = re.search(r"\[\[X\]\]", context)
    if match is None:
        raise ValueError(f"no [[X]] in the context {context!r}")
    before, after = context[: match.start()], context[match.end() :]
    if not _SENTENCE_START.search(before) and descriptor.startswith("The "):
        descriptor = "the " + descriptor[4:]
    if ", " in descriptor and after[:1] not in (",", ".", ";", ":", "!", "?"):
        descriptor += ","
    return refer(before, pronoun) + descriptor + refer(after, pronoun)


def refer(text: str, pronoun: str) -> str:
    """Replace the tokens for the person by the forms of a pronoun ("she" or "he"), with a capital at the start of a sentence."""
    forms = lexicon("hbb")["pronouns"][pronoun]

    def form(token: re.Match[str]) -> str:
        word = forms[_TOKENS[token.group()]]
        return word.capitalize() if _SENTENCE_START.search(text[: token.start()]) else word

    return _TOKEN.sub(form, text)


def questions(concept: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The fifty questions of one concept pair, descriptor type by descriptor type.

    All identities of one type share the name, which a generator seeded with the concept and the type draws from Table 4.
    """
    instances = sum(len(entry["identities"]) * (len(entry["identities"]) - 1) // 2 for entry in types().values())
    names = {name: pronoun for group in lexicon("hbb")["names"].values() for name, pronoun in group.items()}
    for type_, entry in types().items():
        name = random.Random(f"{SEED}/{concept['id']}/{type_}").choice(list(names))
        for identity, described in entry["identities"].items():
            pronoun = described.get("pronoun", names[name])
            yield {
                "concept": concept["id"],
                "instances": instances,
                "theme": concept["theme"],
                "concept_1": concept["concept_1"],
                "concept_2": concept["concept_2"],
                "favourable": int(concept["favourable"]),
                "category": entry["category"],
                "type": type_,
                "identities": list(entry["identities"]),
                "identity": identity,
                "context": describe(concept["context"], described["descriptor"].replace("{name}", name), pronoun),
                "option_1": refer(concept["option_1"], pronoun),
                "option_2": refer(concept["option_2"], pronoun),
            }


def documents(order: str = "both") -> list[dict[str, Any]]:
    """All questions, concept pair by concept pair; with order "both" each one twice in a row, option 1 behind the letter a first."""
    asked = []
    for concept in table("hbb_concepts"):
        for question in questions(concept):
            texts = question.pop("option_1"), question.pop("option_2")
            for first in (1, 2)[: ORDERS[order]]:
                asked.append({**question, "first": first, "option_a": texts[first - 1], "option_b": texts[2 - first]})
    return asked


build = CustomDataset(documents)
