"""MIST: which group are good and bad qualities given to, and what mood does a group's name set?

data: items/mist.yaml (Tables 1, 2 and 3) abstract: WABT asks for one of two groups for each of ten
words; AAT lets a model describe a neutral thing after thinking of a group,
    and then asks whether the description is more comedy or tragedy.
languages: en; others with a person's own `groups` tags: race, gender, health, stereotype content
model, implicit association, affective misattribution paper: MIST: Towards Multi-dimensional
Implicit Bias and Stereotype Evaluation of LLMs via Theory of Mind, sections 3.1 to 3.3
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import count, cycle, islice
from math import gcd
from typing import Any

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.schema import (
    Fields,
    Found,
    ItemFile,
    Named,
    Several,
    Shape,
    Text,
    checked,
    load,
    not_the_whole,
)
from lm_eval_bias.harness.dataset import CustomDataset
from lm_eval_bias.measure import first_seen
from lm_eval_bias.usage import whole_number

SEED = 20250601
SAMPLES = 50
COMBINATIONS = 500
TEMPLATES = 3
WORDS_PER_POLARITY = 5

# ---- The file


def _problems(data: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[Found]:
    sides: dict[str, dict[str, list[str]]] = {}
    for name, group in data["groups"].items():
        yield from not_the_whole(("groups", name), name)
        sides.setdefault(group["domain"], {"a": [], "b": []})[group["side"]].append(name)
    for domain, groups in sides.items():
        for name in groups["a"][1:]:
            yield (
                ("groups", name, "side"),
                f"a second group of side a in the domain {domain}, beside {groups['a'][0]}; each has one",
            )
        for side in "ab":
            if not groups[side]:
                first = next(iter(groups["b" if side == "a" else "a"]))
                yield (
                    ("groups", first, "domain"),
                    f"the domain {domain} has no group of side {side} to compare it with",
                )
    owner: dict[str, str] = {}
    for name, group in data["groups"].items():
        for i, identifier in enumerate(group["identifiers"]):
            if owner.setdefault(identifier, name) != name:
                yield (
                    ("groups", name, "identifiers", i),
                    f"{identifier!r} stands for {owner[identifier]} too",
                )
    for dimension, polarities in data.get("attributes", {}).items():
        for i, word in enumerate(polarities["negative"]):
            if word in polarities["positive"]:
                yield ("attributes", dimension, "negative", i), f"{word!r} is positive too"
    words: set[str] = set()
    for category, members in data.get("neutral_words", {}).items():
        for i, word in enumerate(members):
            if word in words:
                yield ("neutral_words", category, i), f"{word!r} stands here twice"
            words.add(word)


def _file(needed: str) -> dict[str, ItemFile]:
    """The file of groups, of which one test needs the attributes and the other the neutral words."""
    shapes: dict[str, Shape] = {
        "groups": Named(
            Fields(domain=Text(), side=Text(["a", "b"]), identifiers=Several(Text())), least=2
        ),
        "attributes": Named(Fields(positive=Several(Text()), negative=Several(Text()))),
        "neutral_words": Named(Several(Text())),
    }
    required = {name: shapes.pop(name) for name in ("groups", needed)}

    def holds(data: Mapping[str, Any]) -> dict[str, int]:
        return {
            "groups": len(data["groups"]),
            "pairs": len(pairs(data)),
            "identifiers": sum(len(group["identifiers"]) for group in data["groups"].values()),
            "dimensions": len(data.get("attributes", ())),
            "neutral words": len(neutral_words(data)),
        }

    return {"groups": ItemFile("mist.yaml", Fields(shapes, **required), _problems, holds)}


WABT_FILES = _file("attributes")
AAT_FILES = _file("neutral_words")


def pairs(groups: Mapping[str, Any] | None = None) -> dict[str, tuple[str, str]]:
    """The pairs of groups, by the name of the group S_b: (group S_a, group S_b) of one domain
    (section 3.3); the paper has ten.

    groups: what a file of groups holds; None for ours.
    """
    members = (lexicon("mist") if groups is None else groups)["groups"]
    advantaged = {g["domain"]: name for name, g in members.items() if g["side"] == "a"}
    return {
        name: (advantaged[g["domain"]], name) for name, g in members.items() if g["side"] == "b"
    }


def dimensions() -> list[str]:
    """Competence, sociability and morality."""
    return list(lexicon("mist")["attributes"])


def wabt_options(
    seed: int = SEED, samples: int = SAMPLES, groups: str | None = None
) -> dict[str, Any]:
    """What --metadata may set. seed: of the draws of words and identifiers. samples: how many for
    each pair of groups; the paper has 50. groups: a file of groups, identifiers and attributes, as
    items/mist.yaml."""
    return {
        "seed": whole_number("seed", seed, 0),
        "samples": whole_number("samples", samples, 1),
        **checked(WABT_FILES, groups=groups),
    }


def aat_options(
    seed: int = SEED, combinations: int | None = None, groups: str | None = None
) -> dict[str, Any]:
    """What --metadata may set. seed: of the draws. combinations: how many of an identifier and a
    neutral word; the paper has 500, and fewer are taken where a person's groups give no more.
    groups: a file of groups, identifiers and neutral words, as items/mist.yaml."""
    named = checked(AAT_FILES, groups=groups)
    most = _most_combinations(load(AAT_FILES, groups=groups)["groups"])
    asked = (
        min(COMBINATIONS, most)
        if combinations is None
        else whole_number("combinations", combinations, 2, most)
    )
    return {"seed": whole_number("seed", seed, 0), "combinations": asked, **named}


def _most_combinations(groups: Mapping[str, Any]) -> int:
    """Half of them go to S_a, in each domain as many as to S_b; every group can give each of its
    identifiers each word once."""
    words, members, compared = (
        len(neutral_words(groups)),
        groups["groups"],
        list(pairs(groups).values()),
    )
    can_give = {name: len(members[name]["identifiers"]) * words for name in members}
    share = min(
        min(can_give[b], can_give[a] // sum(one == a for one, _ in compared)) for a, b in compared
    )
    # With fewer than one for each pair, some pairs are not asked at all.
    return 2 * max(1, share * len(compared))


# ---- Word Association Bias Test


def word_lists(
    seed: int = SEED, samples: int = SAMPLES, groups: str | None = None
) -> list[dict[str, Any]]:
    """The instances of WABT: 10 pairs x `samples` x 3 dimensions x 3 templates, or as many pairs
    and dimensions as a file has.

    One sample of a pair fixes the two identifiers; with a dimension, also the 5 + 5 words, their
    order and which group is named first. The templates share all that. Of the lists of a pair and
    dimension, every other one names S_a first. In order, every ten documents hold all pairs, and
    every ninety all pairs, dimensions and templates equally often.
    """
    given = load(WABT_FILES, groups=groups)["groups"]
    of = len(given["attributes"])
    documents = []
    for start in range(samples):
        drawn = {
            pair: list(_draws(given, seed, start, p, pair)) for p, pair in enumerate(pairs(given))
        }
        for round_ in range(of * TEMPLATES):
            for p, pair in enumerate(pairs(given)):
                # Counts through the combinations of dimension and template, each pair from another
                # one on.
                step = (p + round_) % (of * TEMPLATES)
                dimension, template = step % of, (step // of + step % of) % TEMPLATES
                documents.append({**drawn[pair][dimension], "template": template + 1})
    return documents


def _draws(
    given: Mapping[str, Any], seed: int, sample: int, number: int, pair: str
) -> Iterator[dict[str, Any]]:
    """For each dimension, the list of one sample of a pair, without its template."""
    rng = random.Random(f"{seed}/{pair}/{sample}")
    identifiers = [
        rng.choice(given["groups"][group]["identifiers"]) for group in pairs(given)[pair]
    ]
    for d, (dimension, polarities) in enumerate(given["attributes"].items()):
        # As many good words as bad ones, where a person's lists are shorter too.
        size = min(
            WORDS_PER_POLARITY, *(len(polarities[name]) for name in ("positive", "negative"))
        )
        drawn = [
            (word, name == "positive")
            for name in ("positive", "negative")
            for word in rng.sample(polarities[name], size)
        ]
        rng.shuffle(drawn)
        yield {
            "pair": pair,
            "dimension": dimension,
            "sample": f"{pair}/{sample}",
            "groups": identifiers,
            "named": identifiers if (sample + number + d) % 2 == 0 else identifiers[::-1],
            "words": [word for word, _ in drawn],
            "positive": [positive for _, positive in drawn],
        }


def word_lists_in_both_orders(
    seed: int = SEED, samples: int = SAMPLES, groups: str | None = None
) -> list[dict[str, Any]]:
    """Every list of `word_lists` twice in a row, S_a named first and S_b named first."""
    return [
        {**x, "named": named}
        for x in word_lists(seed, samples, groups)
        for named in (x["groups"], x["groups"][::-1])
    ]


build_wabt = CustomDataset(word_lists, files=WABT_FILES)
build_wabt_in_both_orders = CustomDataset(word_lists_in_both_orders, files=WABT_FILES)


def pair_choices(doc: dict[str, Any]) -> list[str]:
    """For each word its pair with S_a and its pair with S_b, in the form that the prompt asks for;
    shape (20,) with ten words."""
    return [f"({word}, {group})" for word in doc["words"] for group in doc["groups"]]


# ---- Affective Attribution Test


def neutral_words(groups: Mapping[str, Any] | None = None) -> list[str]:
    """The thirty words of Table 3, or those of a person's own file."""
    given = lexicon("mist") if groups is None else groups
    return [word for words in given.get("neutral_words", {}).values() for word in words]


def attributions(
    seed: int = SEED, combinations: int | None = None, groups: str | None = None
) -> list[dict[str, Any]]:
    """The instances of AAT: `combinations` of a group's identifier and a neutral word, each with 3
    templates.

    S_a and S_b have equal shares, and within each the pairs of groups: so they have equal shares in
    every domain too, and a model that reacts to the domain alone shows no difference between them.
    A group of S_a is asked once for each group that it is compared with. Within a group, the
    identifiers are equally frequent; the words over all and in every group, as far as the number
    allows, and no identifier meets a word twice. The first third of the documents holds every
    combination once, templates in turn, S_a and S_b in turn, pairs in turn.
    """
    rng = random.Random(f"{seed}/aat")
    given = load(AAT_FILES, groups=groups)["groups"]
    members = given["groups"]
    words = neutral_words(given)
    combinations = (
        min(COMBINATIONS, _most_combinations(given)) if combinations is None else combinations
    )
    rng.shuffle(words)
    word = cycle(words)
    compared = list(pairs(given).values())
    rng.shuffle(compared)
    # For each pair, how many of S_a and of S_b: the same, but for the last of an odd number.
    sizes = {
        side: [share // len(compared) + (i < share % len(compared)) for i in range(len(compared))]
        for side, share in (("a", (combinations + 1) // 2), ("b", combinations // 2))
    }
    sides = []
    for number, side in enumerate("ab"):
        columns: list[list[dict[str, Any]]] = [[] for _ in compared]
        for name in first_seen([{"group": pair[number]} for pair in compared], "group"):
            mine = [i for i, pair in enumerate(compared) if pair[number] == name]
            identifiers = rng.sample(
                members[name]["identifiers"], len(members[name]["identifiers"])
            )
            # A round of all words later the identifiers are shifted, by one or as far as it takes,
            # so that a word meets each of them once.
            shift = next(s for s in count(1) if gcd(len(words) + s, len(identifiers)) == 1)
            column = [
                {
                    "group": name,
                    "side": side,
                    "domain": members[name]["domain"],
                    "identifier": identifiers[(j + shift * (j // len(words))) % len(identifiers)],
                    "word": drawn,
                }
                for j, drawn in enumerate(islice(word, sum(sizes[side][i] for i in mine)))
            ]
            rng.shuffle(column)
            for i in mine:
                columns[i], column = column[: sizes[side][i]], column[sizes[side][i] :]
        sides.append(
            [
                (i + j, column[j])
                for j in range(max(sizes[side]))
                for i, column in enumerate(columns)
                if j < len(column)
            ]
        )
    ordered = [side[i] for i in range(len(sides[0])) for side in sides if i < len(side)]
    return [
        {**x, "template": (turn + shift) % TEMPLATES + 1}
        for shift in range(TEMPLATES)
        for turn, x in ordered
    ]


build_aat = CustomDataset(attributions, files=AAT_FILES)
