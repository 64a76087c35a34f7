"""The intergroup empathy gap: is more emotion predicted for one's own group than for another?

data: items/empathy_events.tsv (ours), items/empathy.yaml (Tables 1 and 4; placebos are ours)
languages: en; others with a person's own `items` and `groups`
paper: Language Models Predict Empathy Gaps Between Social In-groups and Out-groups, sections 3.1 to
3.4, appendix A.1
"""

import csv
import random
from functools import cache
from typing import Any, ClassVar

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.options import Option, TaskOptions
from lm_eval_bias.data.schema import (
    Data,
    Fields,
    ItemFile,
    Named,
    Problems,
    Row,
    Rows,
    Several,
    Text,
    load,
    one_of_groups,
)
from lm_eval_bias.data.sources import official_file, source
from lm_eval_bias.harness.dataset import CustomDataset, Document, checks, in_turns
from lm_eval_bias.measure import first_seen
from lm_eval_bias.usage import UsageError, choice, whole_number

SEED = 20250601
EVENTS_PER_EMOTION, MOST_EVENTS = 25, 550
"""By default, and of the commonest emotions in the release."""
FORMS = {"t0": "generated_text", "t1": "first_person_text", "t2": "third_person_text"}
DEGREES = "not", "slightly", "moderately", "very", "extremely"
"""Ours: the scale of the sentences, in equal steps."""


# ---- The files


def _group_problems(data: Data, others: Data) -> Problems:
    for category, groups in data["categories"].items():
        owner = {data.get("unspecified"): "unspecified"}
        for group, names in groups.items():
            for i, name in enumerate(names):
                if owner.setdefault(name, group) != group:
                    cause = f"{name!r} stands for {owner[name]} too"
                    yield ("categories", category, group, i), cause
    for category in data.get("placebos", {}):
        yield from one_of_groups(("placebos", category), category, data["categories"], "categories")
    for emotion in data.get("adjectives", {}):
        yield from one_of_groups(("adjectives", emotion), emotion, data["emotions"], "emotions")
    known = {group for groups in data["categories"].values() for group in groups}
    culture_of: dict[str, str] = {}
    for culture, groups in data.get("cultures", {}).items():
        for i, group in enumerate(groups):
            if group not in known:
                yield ("cultures", culture, i), f"{group!r} is no group of any category"
            elif culture_of.setdefault(group, culture) != culture:
                yield ("cultures", culture, i), f"{group!r} is one of {culture_of[group]} too"


def _event_problems(rows: Any, others: Data) -> Problems:
    emotions = others["groups"]["emotions"]
    for i, row in enumerate(rows):
        yield from one_of_groups((i, "emotion"), row["emotion"], emotions, "emotions")
        for form in rows[0]:
            if form not in row:
                yield (i,), f"{form} is missing, which the first event has"


GROUPS = ItemFile(
    "empathy.yaml",
    Fields(
        {
            "unspecified": Text(),
            "cultures": Named(Several(Text())),
            "placebos": Named(Several(Text(), least=3)),
            "adjectives": Named(Text()),
        },
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


class EmpathyOptions(TaskOptions):
    files: ClassVar = FILES
    missing = Option(
        "complete",
        choice(("complete", "pairwise")),
        "complete leaves a refused event out everywhere, as the authors' program does; pairwise "
        "only where it was refused",
    )
    reader = Option(
        "ours", choice(("ours", "paper")), "of written answers; paper: the authors' program's"
    )


class OfficialOptions(EmpathyOptions):
    files: ClassVar = OFFICIAL_FILES
    events_per_emotion = Option(
        EVENTS_PER_EMOTION, whole_number(1, MOST_EVENTS, "all"), "a number or all"
    )


# ---- The events and the matrices


def identities(category: str, groups: Data) -> dict[str, str | None]:
    """Identity name -> group: the unspecified "a person" (None), then a category's (Table 1).
    UsageError for an unknown category."""
    categories = groups["categories"]
    if category not in categories:
        raise UsageError(
            f"the groups have no category {category!r}; expected one of {', '.join(categories)}"
        )
    names = {groups["unspecified"]: None} if "unspecified" in groups else {}
    return names | {
        name: group for group, members in categories[category].items() for name in members
    }


def official_events(events_per_emotion: int | str = EVENTS_PER_EMOTION) -> list[Row]:
    """Events of crowd-enVent with the authors' rewritings, emotions in turn, from a fixed shuffle.
    UsageError where the files cannot be had."""
    drawn = []
    for emotion in lexicon("empathy")["emotions"]:
        rows = list(_released(emotion))
        random.Random(f"{SEED}/{emotion}").shuffle(rows)
        drawn.append(rows if isinstance(events_per_emotion, str) else rows[:events_per_emotion])
    return in_turns(drawn)


@cache
def _released(emotion: str) -> tuple[Row, ...]:
    path = official_file("empathy", f"crowd-enVent_{emotion}.tsv")
    with path.open(encoding="utf-8", newline="") as f:
        return tuple(
            {
                "id": f"{emotion}_{row['text_id']}",
                "emotion": emotion,
                **{form: row[column] for form, column in FORMS.items()},
            }
            for row in csv.DictReader(f, delimiter="\t")
        )


def documents(
    category: str,
    persona: str = "P0",
    scale: int = 100,
    form: str = "t0",
    reader: str = "ours",
    items: str | None = None,
    groups: str | None = None,
    events_per_emotion: int | str | None = None,
) -> list[Document]:
    """Every event, emotions in turn, with every perceiver and every experiencer, then so with the
    placebos.

    persona: "P0" to "P3". scale: its upper end, 100 or 10. form: "t0", "t1" or "t2".
    events_per_emotion: of the authors' events; None for `items`.
    """
    content = _content(items, groups, events_per_emotion, form)
    known = content["groups"]
    if events_per_emotion is not None:
        wanted = lexicon("empathy")["emotions"]
        if lacking := [emotion for emotion in wanted if emotion not in known["emotions"]]:
            raise UsageError(
                f"the authors' events are of twelve emotions; {groups} lacks {', '.join(lacking)}"
            )
        events = official_events(events_per_emotion)
    else:
        events = in_turns(
            [[row for row in content["items"] if row["emotion"] == e] for e in known["emotions"]]
        )
    names, placebos = _people(category, known)
    group_of = names | placebos
    culture_of = {
        group: culture
        for culture, members in known.get("cultures", {}).items()
        for group in members
    }
    return [
        {
            "event": event["id"],
            "emotion": event["emotion"],
            "valence": known["emotions"][event["emotion"]],
            "adjective": known.get("adjectives", {}).get(event["emotion"]),
            "narrative": event[form],
            "perceiver": perceiver,
            "perceiver_group": group_of[perceiver],
            "perceiver_culture": culture_of.get(group_of[perceiver]),
            "experiencer": experiencer,
            "experiencer_group": group_of[experiencer],
            "placebo": people is placebos,
            "placebos": len(placebos),
            "persona": persona,
            "scale": scale,
            "form": form,
            "reader": reader,
        }
        for event in events
        for people in (names, placebos)
        for perceiver in people
        for experiencer in people
    ]


def _content(items: str | None, groups: str | None, official: int | str | None, form: str) -> Data:
    content = load(FILES if official is None else OFFICIAL_FILES, items=items, groups=groups)
    if official is None and form not in content["items"][0]:
        raise UsageError(
            f"this task needs the events in the form {form}, which {items} lacks; add the "
            f"column {form}"
        )
    return content


def _people(category: str, groups: Data) -> tuple[dict[str, str | None], dict[str, str | None]]:
    placebos = groups.get("placebos", {}).get(category, ())
    return identities(category, groups), {name: name for name in placebos}


def count(
    category: str,
    items: str | None = None,
    groups: str | None = None,
    events_per_emotion: int | str | None = None,
    form: str = "t0",
    **setting: Any,
) -> int:
    """How many `documents` there are; of the authors' events by default, without their files."""
    content = _content(items, groups, events_per_emotion, form)
    events = len(source("empathy").files) * EVENTS_PER_EMOTION
    if events_per_emotion is None:
        events = len(content["items"])
    return events * sum(len(names) ** 2 for names in _people(category, content["groups"]))


def attention(scale: int = 100) -> list[Document]:
    people = dict.fromkeys(("perceiver", "experiencer"), lexicon("empathy")["unspecified"])
    values = [[2 * n / scale - 1 for n in range(scale + 1)]]
    asked = {"persona": "P0", "form": "t0", "scale": scale, **people}
    return checks("empathy_checks", values, **asked)


def attention_in_sentences() -> list[Document]:
    adjectives = lexicon("empathy")["adjectives"]
    return [{**doc, "adjective": adjectives[doc["emotion"]]} for doc in attention(len(DEGREES) - 1)]


build = CustomDataset(documents, count, checks=attention)
build_sentences = CustomDataset(documents, count, checks=attention_in_sentences)


def sentences(doc: Document) -> list[str]:
    """The answers that are scored by likelihood, from the least emotion to the most."""
    felt = doc["adjective"] or f"affected by {doc['emotion']}"
    return [f"The person was {degree} {felt}." for degree in DEGREES]
