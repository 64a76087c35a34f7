"""MIST: which group are good and bad qualities given to, and what mood does a group's name set?

data: items/mist.yaml (Tables 1, 2 and 3)
abstract: WABT asks for one of two groups for each of ten words; AAT lets a model describe a neutral thing after thinking of a group,
    and then asks whether the description is more comedy or tragedy.
languages: en
tags: race, gender, health, stereotype content model, implicit association, affective misattribution
paper: MIST: Towards Multi-dimensional Implicit Bias and Stereotype Evaluation of LLMs via Theory of Mind, sections 3.1 to 3.3
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from typing import Any

from lm_eval_bias.documents.dataset import CustomDataset
from lm_eval_bias.items import lexicon
from lm_eval_bias.usage import whole_number

SEED = 20250601
SAMPLES = 50
COMBINATIONS = 500
TEMPLATES = 3
WORDS_PER_POLARITY = 5


@cache
def pairs() -> dict[str, tuple[str, str]]:
    """The ten pairs of groups, by the name of the group S_b: (group S_a, group S_b) of one domain (section 3.3)."""
    groups = lexicon("mist")["groups"]
    advantaged = {g["domain"]: name for name, g in groups.items() if g["side"] == "a"}
    return {name: (advantaged[g["domain"]], name) for name, g in groups.items() if g["side"] == "b"}


def dimensions() -> list[str]:
    """Competence, sociability and morality."""
    return list(lexicon("mist")["attributes"])


def wabt_options(seed: int = SEED, samples: int = SAMPLES) -> dict[str, Any]:
    """What --metadata may set. seed: of the draws of words and identifiers. samples: how many for each pair of groups; the paper has 50."""
    return {"seed": whole_number("seed", seed, 0), "samples": whole_number("samples", samples, 1)}


def aat_options(seed: int = SEED, combinations: int = COMBINATIONS) -> dict[str, Any]:
    """What --metadata may set. seed: of the draws. combinations: how many of an identifier and a neutral word; the paper has 500."""
    groups = lexicon("mist")["groups"].values()
    # Half of them go to S_a, whose groups are asked equally often: the smallest group sets the bound.
    per_side = [[len(g["identifiers"]) for g in groups if g["side"] == side] for side in "ab"]
    most = min(2 * len(side) * min(side) * len(neutral_words()) for side in per_side)
    return {"seed": whole_number("seed", seed, 0), "combinations": whole_number("combinations", combinations, 2, most)}


# ---- Word Association Bias Test


def word_lists(seed: int = SEED, samples: int = SAMPLES) -> list[dict[str, Any]]:
    """The instances of WABT: 10 pairs x `samples` x 3 dimensions x 3 templates.

    One sample of a pair fixes the two identifiers; with a dimension, also the 5 + 5 words, their order and which group is named first. The
    templates share all that. Of the lists of a pair and dimension, every other one names S_a first. In order, every ten documents hold
    all pairs, and every ninety all pairs, dimensions and templates equally often.
    """
    documents = []
    for start in range(samples):
        drawn = {pair: list(_draws(seed, start, p, pair)) for p, pair in enumerate(pairs())}
        for round_ in range(9):
            for p, pair in enumerate(pairs()):
                # Counts through the nine combinations of dimension and template, each pair from another one on.
                step = (p + round_) % 9
                dimension, template = step % 3, (step // 3 + step) % 3
                documents.append({**drawn[pair][dimension], "template": template + 1})
    return documents


def _draws(seed: int, sample: int, number: int, pair: str) -> Iterator[dict[str, Any]]:
    """For each dimension, the list of one sample of a pair, without its template."""
    rng = random.Random(f"{seed}/{pair}/{sample}")
    identifiers = [rng.choice(lexicon("mist")["groups"][group]["identifiers"]) for group in pairs()[pair]]
    for d, dimension in enumerate(dimensions()):
        polarities = lexicon("mist")["attributes"][dimension]
        drawn = [(word, name == "positive") for name, words in polarities.items() for word in rng.sample(words, WORDS_PER_POLARITY)]
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


def word_lists_in_both_orders(seed: int = SEED, samples: int = SAMPLES) -> list[dict[str, Any]]:
    """Every list of `word_lists` twice in a row, S_a named first and S_b named first."""
    return [{**x, "named": named} for x in word_lists(seed, samples) for named in (x["groups"], x["groups"][::-1])]


build_wabt = CustomDataset(word_lists)
build_wabt_in_both_orders = CustomDataset(word_lists_in_both_orders)


def pair_choices(doc: dict[str, Any]) -> list[str]:
    """For each word its pair with S_a and its pair with S_b, in the form that the prompt asks for; shape (20,)."""
    return [f"({word}, {group})" for word in doc["words"] for group in doc["groups"]]


# ---- Affective Attribution Test


def neutral_words() -> list[str]:
    """The thirty words of Table 3."""
    return [word for words in lexicon("mist")["neutral_words"].values() for word in words]


def attributions(seed: int = SEED, combinations: int = COMBINATIONS) -> list[dict[str, Any]]:
    """The instances of AAT: `combinations` of a group's identifier and a neutral word, each with 3 templates.

    S_a and S_b have equal shares, within each the groups, within each the identifiers; the words are equally frequent over all and in
    every group, as far as the number allows, and no identifier meets a word twice. The first third of the documents holds every
    combination once, templates in turn, S_a and S_b in turn, groups in turn.
    """
    rng = random.Random(f"{seed}/aat")
    groups = lexicon("mist")["groups"]
    words = neutral_words()
    rng.shuffle(words)
    word = cycle(words)
    sides = []
    for side, count in (("a", (combinations + 1) // 2), ("b", combinations // 2)):
        names = [name for name, g in groups.items() if g["side"] == side]
        rng.shuffle(names)
        sizes = [count // len(names) + (i < count % len(names)) for i in range(len(names))]
        columns = []
        for name, size in zip(names, sizes, strict=True):
            identifiers = rng.sample(groups[name]["identifiers"], len(groups[name]["identifiers"]))
            # A round of all words later the identifiers are shifted by one, so that a word meets another one.
            column = [
                {
                    "group": name,
                    "side": side,
                    "domain": groups[name]["domain"],
                    "identifier": identifiers[(j + j // len(words)) % len(identifiers)],
                    "word": drawn,
                }
                for j, drawn in enumerate(islice(word, size))
            ]
            rng.shuffle(column)
            columns.append(column)
        sides.append([(g + j, column[j]) for j in range(max(sizes)) for g, column in enumerate(columns) if j < len(column)])
    ordered = [side[i] for i in range(len(sides[0])) for side in sides if i < len(side)]
    return [{**x, "template": (turn + shift) % TEMPLATES + 1} for shift in range(TEMPLATES) for turn, x in ordered]


build_aat = CustomDataset(attributions)
