"""The intergroup empathy gap: is more emotion predicted for a person of one's own group than for
one of another?

data: items/empathy_events.tsv (ours), items/empathy.yaml (Tables 1 and 4) abstract: a model that is
given a group as its persona rates how strongly a person of some group felt an emotion in a short
narrative. languages: en; others with a person's own `items` and `groups` tags: race and ethnicity,
nationality, religion, persona, in-group and out-group, emotion intensity paper: Language Models
Predict Empathy Gaps Between Social In-groups and Out-groups, sections 3.1 to 3.4, appendix A.1
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from lm_eval_bias.data.lexicons import lexicon, table
from lm_eval_bias.data.schema import (
    Fields,
    Found,
    ItemFile,
    Named,
    Rows,
    Several,
    Text,
    checked,
    load,
)
from lm_eval_bias.data.sources import official_file, source
from lm_eval_bias.harness.dataset import CustomDataset
from lm_eval_bias.measure import first_seen
from lm_eval_bias.usage import UsageError, choice, whole_number

SEED = 20250601
EVENTS_PER_EMOTION = 25
FORMS = {"t0": "generated_text", "t1": "first_person_text", "t2": "third_person_text"}
MISSING = ("complete", "pairwise")


# ---- The files


def _group_problems(data: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[Found]:
    for category, groups in data["categories"].items():
        owner: dict[str, str] = (
            {data["unspecified"]: "unspecified"} if "unspecified" in data else {}
        )
        for group, names in groups.items():
            for i, name in enumerate(names):
                if owner.setdefault(name, group) != group:
                    yield (
                        ("categories", category, group, i),
                        f"{name!r} stands for {owner[name]} too",
                    )
    known = {group for groups in data["categories"].values() for group in groups}
    culture_of: dict[str, str] = {}
    for culture, groups in data.get("cultures", {}).items():
        for i, group in enumerate(groups):
            if group not in known:
                yield ("cultures", culture, i), f"{group!r} is no group of any category"
            elif culture_of.setdefault(group, culture) != culture:
                yield ("cultures", culture, i), f"{group!r} is one of {culture_of[group]} too"


def _event_problems(rows: Any, others: Mapping[str, Any]) -> Iterator[Found]:
    emotions = others["groups"]["emotions"]
    for i, row in enumerate(rows):
        if row["emotion"] not in emotions:
            yield (
                (i, "emotion"),
                f"{row['emotion']!r} is not one of the groups' emotions ({', '.join(emotions)})",
            )
        for form in rows[0]:
            if form not in row:
                yield (i,), f"{form} is missing, which the first event has"


GROUPS = ItemFile(
    "empathy.yaml",
    Fields(
        {"unspecified": Text(), "cultures": Named(Several(Text()))},
        categories=Named(Named(Several(Text()), least=2)),
        emotions=Named(Text(["positive", "negative", "none"])),
    ),
    _group_problems,
    lambda data: {
        "categories": len(data["categories"]),
        "groups": sum(map(len, data["categories"].values())),
        "identity names": sum(
            len(names) for groups in data["categories"].values() for names in groups.values()
        ),
        "emotions": len(data["emotions"]),
    },
)
EVENTS = ItemFile(
    "empathy_events.tsv",
    Rows(Fields({form: Text() for form in FORMS}, id=Text(), emotion=Text()), unique=["id"]),
    _event_problems,
    lambda rows: {"events": len(rows), "emotions": len(first_seen(rows, "emotion"))},
)
FILES = {"groups": GROUPS, "items": EVENTS}
OFFICIAL_FILES = {"groups": GROUPS}


def options(
    missing: str = "complete", items: str | None = None, groups: str | None = None
) -> dict[str, Any]:
    """What --metadata may set. missing: "complete" leaves an event that was refused out everywhere,
    as the authors' program does: of delta if a pair of named groups refused it, of M0 if any pair
    did; "pairwise" only where it was refused. items: a file of events, with the columns of
    items/empathy_events.tsv. groups: a file of categories, identity names, emotions and, if you
    like, cultures, as items/empathy.yaml."""
    return {
        "missing": choice("missing", missing, MISSING),
        **checked(FILES, items=items, groups=groups),
    }


def official_options(
    missing: str = "complete",
    events_per_emotion: int | str = EVENTS_PER_EMOTION,
    shard: str = "1/1",
    groups: str | None = None,
) -> dict[str, Any]:
    """What --metadata may set on the authors' events. events_per_emotion: how many are drawn of
    each emotion, or "all". shard: "3/10" asks the third of ten parts of the events; `lm-eval-bias
    merge` puts the parts' samples together."""
    if events_per_emotion != "all":
        whole_number("events_per_emotion", events_per_emotion, 1, otherwise="all")
    _part(shard)
    own = {
        "missing": choice("missing", missing, MISSING),
        "events_per_emotion": events_per_emotion,
        "shard": str(shard),
    }
    return {**own, **checked(OFFICIAL_FILES, groups=groups)}


def _part(shard: str) -> tuple[int, int]:
    """The number of a part and how many parts there are."""
    match = re.fullmatch(r"(\d+)/(\d+)", str(shard))
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(
            f"shard={shard!r} in --metadata: expected a part and the number of parts, such as 3/10"
        )
    return int(match[1]), int(match[2])


# ---- The events and the matrices


def identities(category: str, groups: Mapping[str, Any] | None = None) -> dict[str, str | None]:
    """The identity names of a category in the order of Table 1, after the unspecified "a person":
    name -> group, None for that one.

    groups: what a file of groups holds; None for ours. UsageError for a category that it lacks.
    """
    given = lexicon("empathy") if groups is None else groups
    if category not in given["categories"]:
        raise UsageError(
            f"the groups have no category {category!r}; expected one of {', '.join(given['categories'])}"
        )
    names: dict[str, str | None] = {given["unspecified"]: None} if "unspecified" in given else {}
    return names | {
        name: group for group, members in given["categories"][category].items() for name in members
    }


def events(
    rows: Sequence[Mapping[str, str]] | None = None, groups: Mapping[str, Any] | None = None
) -> list[Mapping[str, str]]:
    """Events, emotions in turn: id, emotion, and the narrative in its three forms t0, t1, t2. rows,
    groups: what the files hold; None for ours."""
    rows = table("empathy_events") if rows is None else rows
    given = lexicon("empathy") if groups is None else groups
    return _in_turn(
        [[row for row in rows if row["emotion"] == emotion] for emotion in given["emotions"]]
    )


def official_events(events_per_emotion: int | str = EVENTS_PER_EMOTION) -> list[Mapping[str, str]]:
    """The same of crowd-enVent as the authors of the paper released it, with their rewritings; the
    first ones of a fixed shuffle.

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
    with official_file("empathy", f"crowd-enVent_{emotion}.tsv").open(
        encoding="utf-8", newline=""
    ) as f:
        return tuple(
            {
                "id": f"{emotion}_{row['text_id']}",
                "emotion": emotion,
                **{form: row[column] for form, column in FORMS.items()},
            }
            for row in csv.DictReader(f, delimiter="\t")
        )


def _in_turn(columns: Sequence[Sequence[Mapping[str, str]]]) -> list[Mapping[str, str]]:
    """The first of every column, then the second, as far as each goes."""
    return [
        column[i] for i in range(max(map(len, columns))) for column in columns if i < len(column)
    ]


def documents(
    category: str,
    persona: str = "P0",
    scale: int = 100,
    form: str = "t0",
    items: str | None = None,
    groups: str | None = None,
) -> list[dict[str, Any]]:
    """Every event with every perceiver and experiencer: event by event, each with its whole matrix,
    perceivers in rows.

    persona: "P0" to "P3". scale: its upper end, 100 or 10. form: of the narrative, "t0", "t1" or
    "t2".
    """
    given = load(FILES, items=items, groups=groups)
    if form not in given["items"][0]:
        raise UsageError(
            f"this task tells the events in the form {form}, which {items} lacks; add the column {form}"
        )
    return _matrices(
        events(given["items"], given["groups"]), given["groups"], category, persona, scale, form
    )


def official_documents(
    category: str,
    persona: str = "P0",
    scale: int = 100,
    form: str = "t0",
    events_per_emotion: int | str = EVENTS_PER_EMOTION,
    shard: str = "1/1",
    groups: str | None = None,
) -> list[dict[str, Any]]:
    """The same with the authors' events."""
    given = load(OFFICIAL_FILES, groups=groups)["groups"]
    lacking = [
        emotion for emotion in lexicon("empathy")["emotions"] if emotion not in given["emotions"]
    ]
    if lacking:
        raise UsageError(
            f"the authors' events are of twelve emotions; {groups} lacks {', '.join(lacking)}"
        )
    part, parts = _part(shard)
    return _matrices(
        official_events(events_per_emotion)[part - 1 :: parts],
        given,
        category,
        persona,
        scale,
        form,
    )


def _matrices(
    chosen: Sequence[Mapping[str, str]],
    groups: Mapping[str, Any],
    category: str,
    persona: str,
    scale: int,
    form: str,
) -> list[dict[str, Any]]:
    names, valence_of = identities(category, groups), groups["emotions"]
    culture_of = {
        group: culture
        for culture, members in groups.get("cultures", {}).items()
        for group in members
    }
    return [
        {
            "event": event["id"],
            "emotion": event["emotion"],
            "valence": valence_of[event["emotion"]],
            "narrative": event[form],
            "perceiver": perceiver,
            "perceiver_group": names[perceiver],
            "perceiver_culture": culture_of.get(names[perceiver]),
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


def count(
    category: str, items: str | None = None, groups: str | None = None, **setting: Any
) -> int:
    """How many `documents` there are."""
    given = load(FILES, items=items, groups=groups)
    return len(given["items"]) * len(identities(category, given["groups"])) ** 2


def official_count(category: str, groups: str | None = None, **setting: Any) -> int:
    """How many `official_documents` there are by default; needs no files."""
    given = load(OFFICIAL_FILES, groups=groups)["groups"]
    return len(source("empathy").files) * EVENTS_PER_EMOTION * len(identities(category, given)) ** 2


build = CustomDataset(documents, count, FILES)
build_official = CustomDataset(official_documents, official_count, OFFICIAL_FILES)


NUMBERS = [str(n) for n in range(101)]


def numbers(doc: dict[str, Any]) -> list[str]:
    """The answers that are scored by likelihood: every whole number from 0 to 100, on both scales."""
    return NUMBERS
