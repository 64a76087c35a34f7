"""The intergroup empathy gap: is more emotion predicted for a person of one's own group than for one of another?

data: items/empathy_events.tsv (ours), items/empathy.yaml (Table 1)
abstract: a model that is given a group as its persona rates how strongly a person of some group felt an emotion in a short narrative.
languages: en
tags: race and ethnicity, nationality, religion, persona, in-group and out-group, emotion intensity
paper: Language Models Predict Empathy Gaps Between Social In-groups and Out-groups, sections 3.1 to 3.4, appendix A.1
"""

from __future__ import annotations

import csv
import random
import re
from functools import cache
from typing import Any

from lm_eval_bias.documents.dataset import CustomDataset
from lm_eval_bias.items import lexicon, table
from lm_eval_bias.sources import official_file, source
from lm_eval_bias.usage import UsageError, choice, whole_number

SEED = 20250601
EVENTS_PER_EMOTION = 25
FORMS = {"t0": "generated_text", "t1": "first_person_text", "t2": "third_person_text"}
MISSING = ("complete", "pairwise")


def options(missing: str = "complete") -> dict[str, Any]:
    """What --metadata may set. missing: "complete" leaves an event that any pair refused out everywhere, as the paper does; "pairwise" only
    where it was refused."""
    return {"missing": choice("missing", missing, MISSING)}


def official_options(missing: str = "complete", events_per_emotion: int | str = EVENTS_PER_EMOTION, shard: str = "1/1") -> dict[str, Any]:
    """What --metadata may set on the authors' events. events_per_emotion: how many are drawn of each emotion, or "all".
    shard: "3/10" asks the third of ten parts of the events; `lm-eval-bias merge` puts the parts' samples together."""
    if events_per_emotion != "all":
        whole_number("events_per_emotion", events_per_emotion, 1, otherwise="all")
    _part(shard)
    return {**options(missing), "events_per_emotion": events_per_emotion, "shard": str(shard)}


def _part(shard: str) -> tuple[int, int]:
    """The number of a part and how many parts there are."""
    match = re.fullmatch(r"(\d+)/(\d+)", str(shard))
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"shard={shard!r} in --metadata: expected a part and the number of parts, such as 3/10")
    return int(match[1]), int(match[2])


def identities(category: str) -> dict[str, str | None]:
    """The identity names of a category in the order of Table 1, after the unspecified "a person": name -> group, None for that one."""
    names: dict[str, str | None] = {lexicon("empathy")["unspecified"]: None}
    return names | {name: group for group, members in lexicon("empathy")["categories"][category].items() for name in members}


def events() -> list[dict[str, str]]:
    """Our events, emotions in turn: id, emotion, and the narrative in its three forms t0, t1, t2."""
    rows = table("empathy_events")
    return _in_turn([[row for row in rows if row["emotion"] == emotion] for emotion in lexicon("empathy")["emotions"]])


def official_events(events_per_emotion: int | str = EVENTS_PER_EMOTION) -> list[dict[str, str]]:
    """The same of crowd-enVent as the authors of the paper released it, with their rewritings; the first ones of a fixed shuffle.

    A larger draw begins with the smaller one. Raises UsageError where the files cannot be had.
    """
    drawn = []
    for emotion in lexicon("empathy")["emotions"]:
        rows = list(_released(emotion))
        random.Random(f"{SEED}/{emotion}").shuffle(rows)
        drawn.append(rows if events_per_emotion == "all" else rows[:events_per_emotion])
    return _in_turn(drawn)


@cache
def _released(emotion: str) -> tuple[dict[str, str], ...]:
    with official_file("empathy", f"crowd-enVent_{emotion}.tsv").open(encoding="utf-8", newline="") as f:
        return tuple(
            {"id": f"{emotion}_{row['text_id']}", "emotion": emotion, **{form: row[column] for form, column in FORMS.items()}}
            for row in csv.DictReader(f, delimiter="\t")
        )


def _in_turn(columns: list[list[dict[str, str]]]) -> list[dict[str, str]]:
    """The first of every column, then the second, as far as each goes."""
    return [column[i] for i in range(max(map(len, columns))) for column in columns if i < len(column)]


def documents(category: str, persona: str = "P0", scale: int = 100, form: str = "t0") -> list[dict[str, Any]]:
    """Every event with every perceiver and experiencer: event by event, each with its whole matrix, perceivers in rows.

    persona: "P0" to "P3". scale: its upper end, 100 or 10. form: of the narrative, "t0", "t1" or "t2".
    """
    return _matrices(events(), category, persona, scale, form)


def official_documents(
    category: str,
    persona: str = "P0",
    scale: int = 100,
    form: str = "t0",
    events_per_emotion: int | str = EVENTS_PER_EMOTION,
    shard: str = "1/1",
) -> list[dict[str, Any]]:
    """The same with the authors' events."""
    part, parts = _part(shard)
    return _matrices(official_events(events_per_emotion)[part - 1 :: parts], category, persona, scale, form)


def _matrices(chosen: list[dict[str, str]], category: str, persona: str, scale: int, form: str) -> list[dict[str, Any]]:
    names, valence_of = identities(category), lexicon("empathy")["emotions"]
    return [
        {
            "event": event["id"],
            "emotion": event["emotion"],
            "valence": valence_of[event["emotion"]],
            "narrative": event[form],
            "perceiver": perceiver,
            "perceiver_group": names[perceiver],
            "experiencer": experiencer,
            "experiencer_group": names[experiencer],
            "persona": persona,
            "scale": scale,
            "form": form,
        }
        for event in chosen
        for perceiver in names
        for experiencer in names
    ]


def count(category: str, **setting: Any) -> int:
    """How many `documents` there are."""
    return len(table("empathy_events")) * len(identities(category)) ** 2


def official_count(category: str, **setting: Any) -> int:
    """How many `official_documents` there are by default; needs no files."""
    return len(source("empathy").files) * EVENTS_PER_EMOTION * len(identities(category)) ** 2


build = CustomDataset(documents, count)
build_official = CustomDataset(official_documents, official_count)


NUMBERS = [str(n) for n in range(101)]


def numbers(doc: dict[str, Any]) -> list[str]:
    """The answers that are scored by likelihood: every whole number from 0 to 100, on both scales."""
    return NUMBERS
