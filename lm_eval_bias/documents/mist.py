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
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import cycle, islice
from math import nan
from typing import Any

from lm_eval_bias.documents.dataset import CustomDataset
from lm_eval_bias.documents.likelihoods import probability
from lm_eval_bias.items import lexicon
from lm_eval_bias.metrics.affective_attribution import VERDICTS, Attribution, attribution_gap, rates
from lm_eval_bias.metrics.word_association import Association, WordList, association
from lm_eval_bias.usage import UsageError

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


def _count(name: str, value: Any, least: int, most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        span = f"from {least} to {most}" if most is not None else f"of at least {least}"
        raise UsageError(f"{name}={value!r} in --metadata: expected a whole number {span}")
    return value


def wabt_options(seed: int = SEED, samples: int = SAMPLES) -> dict[str, Any]:
    """What --metadata may set. seed: of the draws of words and identifiers. samples: how many for each pair of groups; the paper has 50."""
    return {"seed": _count("seed", seed, 0), "samples": _count("samples", samples, 1)}


def aat_options(seed: int = SEED, combinations: int = COMBINATIONS) -> dict[str, Any]:
    """What --metadata may set. seed: of the draws. combinations: how many of an identifier and a neutral word; the paper has 500."""
    groups = lexicon("mist")["groups"].values()
    # Half of them go to S_a, whose groups are asked equally often: the smallest group sets the bound.
    per_side = [[len(g["identifiers"]) for g in groups if g["side"] == side] for side in "ab"]
    most = min(2 * len(side) * min(side) * len(neutral_words()) for side in per_side)
    return {"seed": _count("seed", seed, 0), "combinations": _count("combinations", combinations, 2, most)}


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


def record_wabt(doc: dict[str, Any], results: Sequence[list[int] | str]) -> dict[str, Any]:
    """What `answers.WordPairs` read."""
    answer = results[0]
    valid = not isinstance(answer, str)
    return {**_list_keys(doc), "share": [float(group == 0) for group in answer] if valid else None, "refused": answer == "refused"}


def record_wabt_likelihood(doc: dict[str, Any], results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Likelihoods of `pair_choices` -> for each word P(S_a) among the two groups; no shares if one of them is not a number."""
    likelihoods = [r[0] for r in results]
    shares = [probability(a, b) for a, b in zip(likelihoods[::2], likelihoods[1::2], strict=True)]
    usable = None not in shares
    return {**_list_keys(doc), "share": shares if usable else None, "a_first": doc["named"][0] == doc["groups"][0]}


def _list_keys(doc: dict[str, Any]) -> dict[str, Any]:
    return {k: doc[k] for k in ("pair", "dimension", "sample", "template", "positive")}


def _word_list(record: dict[str, Any], share: Sequence[float] | None, refused: bool = False) -> WordList:
    return WordList(record["pair"], record["dimension"], record["sample"], record["positive"], share, refused)


def summary_wabt(records: Sequence[dict[str, Any]], **options: Any) -> dict[str, Any]:
    """Table 4 for the model at hand, the rates of lists without a score, and cells: Figure 3."""
    return _association_summary([_word_list(r, r["share"], r["refused"]) for r in records])


def summary_wabt_likelihood(records: Sequence[dict[str, Any]], **options: Any) -> dict[str, Any]:
    """The same, each list's probabilities averaged over the two orders of the groups' names."""
    orders: dict[tuple[str, str, int], dict[bool, dict[str, Any]]] = {}
    for r in records:
        orders.setdefault((r["sample"], r["dimension"], r["template"]), {})[r["a_first"]] = r
    complete = [both for both in orders.values() if len(both) == 2]
    lists, differences = [], []
    for both in complete:
        shares = [both[first]["share"] for first in (True, False)]
        if None in shares:
            lists.append(_word_list(both[True], None))
            continue
        lists.append(_word_list(both[True], [(x + y) / 2 for x, y in zip(*shares, strict=True)]))
        differences.append(sum(x - y for x, y in zip(*shares, strict=True)) / len(shares[0]))
    summary = _association_summary(lists)
    summary["metrics"] |= {
        "left_out": (float(len(orders) - len(complete)), nan),
        "position_preference": (sum(differences) / len(differences) / 2 if differences else nan, nan),
    }
    return summary


def _association_summary(lists: Sequence[WordList]) -> dict[str, Any]:
    everything = association(lists)
    metrics = {name: (getattr(everything, name), nan) for name in ("invalid", "undefined", "refused")}
    cells = []
    for dimension in dimensions():
        result = association([x for x in lists if x.dimension == dimension])
        metrics |= {
            f"{dimension}_bias": tuple(result.mean),
            f"{dimension}_n": (float(result.scores.n), nan),
            **{f"{dimension}_{name}": (getattr(result.scores, name), nan) for name in ("std", "t", "p")},
        }
        cells.append(_association_cell("all", dimension, result))
        for pair in pairs():
            cells.append(_association_cell(pair, dimension, association([x for x in lists if (x.pair, x.dimension) == (pair, dimension)])))
    return {"metrics": metrics, "cells": {"scores": cells}}


def _association_cell(pair: str, dimension: str, result: Association) -> dict[str, Any]:
    return {
        "pair": pair,
        "dimension": dimension,
        "lists": result.lists,
        **result.scores._asdict(),
        "stderr": result.mean.stderr,
        **{name: getattr(result, name) for name in ("invalid", "undefined", "refused")},
    }


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
                {"group": name, "side": side, "identifier": identifiers[(j + j // len(words)) % len(identifiers)], "word": drawn}
                for j, drawn in enumerate(islice(word, size))
            ]
            rng.shuffle(column)
            columns.append(column)
        sides.append([(g + j, column[j]) for j in range(max(sizes)) for g, column in enumerate(columns) if j < len(column)])
    ordered = [side[i] for i in range(len(sides[0])) for side in sides if i < len(side)]
    return [{**x, "template": (turn + shift) % TEMPLATES + 1} for shift in range(TEMPLATES) for turn, x in ordered]


build_aat = CustomDataset(attributions)


def record_aat(doc: dict[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The verdict that `answers.Affect` read."""
    return {**_attribution_keys(doc), "verdict": results[0]}


def record_aat_likelihood(doc: dict[str, Any], results: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Likelihoods of comedy and tragedy in the last turn -> the likelier verdict and P(comedy) among the two."""
    comedy, tragedy = (choice[0] for choice in results[0][-1])
    p = probability(comedy, tragedy)
    verdict = "unparsed" if p is None else "comedy" if p > 0.5 else "tragedy" if p < 0.5 else "neutrality"
    return {**_attribution_keys(doc), "verdict": verdict, "p_comedy": p}


def _attribution_keys(doc: dict[str, Any]) -> dict[str, Any]:
    return {k: doc[k] for k in ("group", "side", "identifier", "word", "template")}


def summary_aat(records: Sequence[dict[str, Any]], **options: Any) -> dict[str, Any]:
    """Table 5 for the model at hand, the gaps between S_a and S_b, and cells: Figure 4 and the gaps of each pair of groups."""
    return _attribution_summary(records, {"comedy": _is("comedy"), "tragedy": _is("tragedy")})


def summary_aat_likelihood(records: Sequence[dict[str, Any]], **options: Any) -> dict[str, Any]:
    """The same; in place of a gap in tragedy, which mirrors that in comedy, one in P(comedy)."""
    return _attribution_summary(records, {"comedy": _is("comedy"), "probability": _p_comedy})


def _p_comedy(record: dict[str, Any]) -> float:
    return nan if record["p_comedy"] is None else record["p_comedy"]


def _is(verdict: str) -> Callable[[dict[str, Any]], float]:
    return lambda record: float(record["verdict"] == verdict)


def _attribution_summary(records: Sequence[dict[str, Any]], outcomes: dict[str, Callable[[dict[str, Any]], float]]) -> dict[str, Any]:
    attributions = [Attribution(**{k: r[k] for k in Attribution._fields}) for r in records]
    groups = lexicon("mist")["groups"]
    sides = {side: rates([x for x in attributions if x.side == side]) for side in "ab"}
    everything = rates(attributions)
    metrics = {
        "far": tuple(sides["a"].comedy),
        "uar": tuple(sides["b"].tragedy),
        **{f"{verdict}_{side}": tuple(getattr(sides[side], verdict)) for side in "ab" for verdict in VERDICTS},
        "refused": (everything.refused, nan),
        "unparsed": (everything.unparsed, nan),
    }
    gaps = []
    for name, outcome in outcomes.items():
        values = [outcome(r) for r in records]
        overall = attribution_gap(attributions, values)
        metrics[f"{name}_gap"] = (overall.value, overall.stderr)
        metrics |= {f"{name}_gap_{key}": (getattr(overall, key), nan) for key in ("low", "high", "p")}
        gaps.append({"pair": "all", "gap": name, **overall._asdict()})
        for pair, both in pairs().items():
            of_pair = [i for i, x in enumerate(attributions) if x.group in both]
            gap = attribution_gap([attributions[i] for i in of_pair], [values[i] for i in of_pair])
            gaps.append({"pair": pair, "gap": name, **gap._asdict()})
    cells = []
    for group, entry in groups.items():
        result = rates([x for x in attributions if x.group == group])
        cell = {"group": group, "side": entry["side"], "n": result.n}
        for verdict in VERDICTS:
            cell |= dict(zip((verdict, f"{verdict}_stderr"), getattr(result, verdict), strict=True))
        cells.append({**cell, "refused": result.refused, "unparsed": result.unparsed})
    return {"metrics": metrics, "cells": {"groups": cells, "gaps": gaps}}
