"""HBB-SG, the semi-generation form of HBB: how likely is each of several sentences that hide a concept, as the next of a story?

data: items/hbb_concepts.tsv and items/hbb_variations.tsv (ours), items/hbb.yaml (Tables 4 and 10; placebo types ours)
abstract: as `hbb`, with four sentences for each option, to be written and not chosen.
languages: en
tags: age, gender, race and ethnicity, socioeconomic status, religion, hidden bias
paper: Beneath the Surface: How Large Language Models Reflect Hidden Bias, section 5, appendix E
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lm_eval_bias.documents import hbb
from lm_eval_bias.documents.dataset import CustomDataset
from lm_eval_bias.item_files import checked, load
from lm_eval_bias.items import table
from lm_eval_bias.metrics.hidden_bias import THRESHOLD
from lm_eval_bias.usage import number

FILES = {"groups": hbb.FILES["groups"]}


def options(threshold: float = THRESHOLD, groups: str | None = None) -> dict[str, Any]:
    """What --metadata may set. threshold: in points, from 0 to 100; an instance with S at or above it counts as biased. groups: a file of
    descriptor types, names and pronouns, as items/hbb.yaml."""
    return {"threshold": number("threshold", threshold, 0, 100), **checked(FILES, groups=groups)}


def versions(concept: Mapping[str, str]) -> list[dict[str, str]]:
    """A concept pair with each of its sentences: as it is, then with the first variation of either option, the second, and so on."""
    more = [_variations().get((concept["id"], option), []) for option in ("1", "2")]
    return [dict(concept), *({**concept, "option_1": one, "option_2": two} for one, two in zip(*more, strict=True))]


def _variations() -> dict[tuple[str, str], list[str]]:
    """The sentences of each concept pair and option, in their order."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in table("hbb_variations"):
        found.setdefault((row["id"], row["option"]), []).append(row["sentence"])
    return found


def questions(concept: Mapping[str, str], groups: Mapping[str, Any] | None = None, category: str | None = None) -> Iterator[dict[str, Any]]:
    """The questions of one concept pair, as `hbb.questions`; choices: the sentences of option 1, then as many of option 2."""
    # A name is drawn by concept pair and type, so all versions of a question are about the same person.
    for asked in zip(*(hbb.questions(each, groups, category) for each in versions(concept)), strict=True):
        sentences = [each.pop(option) for option in ("option_1", "option_2") for each in asked]
        yield {**asked[0], "first": 1, "choices": sentences}


def documents(groups: str | None = None, category: str | None = None) -> list[dict[str, Any]]:
    """All questions, or those of one category and the placebos, concept pair by concept pair, in the order of `hbb`."""
    given = load(FILES, groups=groups)["groups"]
    return [question for concept in hbb.interleaved(table("hbb_concepts")) for question in questions(concept, given, category)]


build = CustomDataset(documents, files=FILES)
