"""Each number's n counts its own units. Here they are counted again, from the records of answers by
chance, of which some are refused, unreadable, undefined or were not asked."""

from collections import defaultdict

import pytest
from test_measure import ASKED, EVERY, asked

# ---- Counted again


def grouped(records, *columns):
    groups = defaultdict(list)
    for r in records:
        groups[tuple(r[column] for column in columns)].append(r)
    return groups


def of_analogies(records):
    counts = dict.fromkeys(("biased", "calibrated", "directed", "beyond", "all", "orders"), 0)
    written = "answer" in records[0]

    def has(rows):
        if not written:
            return all(r["log_odds"] is not None for r in rows)
        valid = [r["first"] for r in rows if r["answer"] in ("biased", "unbiased")]
        return {1, 2} <= {*valid}

    for rows in grouped(records, "analogy", "axis", "gender").values():
        by = {name: of for (name,), of in grouped(rows, "context").items()}
        own, free, swapped = (by.get(k, []) for k in ("stereotype", "content-free", "swapped"))
        complete = bool(own) and has(own)
        counts["all"] += 1
        counts["biased"] += complete
        if written:
            phrases = grouped(free, "c").values()
            counts["calibrated"] += complete and any(map(has, phrases))
        else:
            counts["calibrated"] += complete and has(free) and len(free) == rows[0]["content_free"]
        directed = complete and bool(swapped) and has(swapped)
        counts["directed"] += directed
        placebos = [by.get(k) for k in ("placebo", "placebo swapped")]
        counts["beyond"] += directed and all(of and has(of) for of in placebos)
    if written:
        questions = grouped(records, "analogy", "axis", "gender", "context", "c")
        counts["orders"] = sum(map(has, questions.values()))
    return counts


def analogy(records):
    of = of_analogies(records)
    return {
        "biased_preferences": of["biased"],
        "calibrated_preferences": of["calibrated"],
        "directed_preferences": of["directed"],
        "directed_log_odds": of["directed"],
        "calibrated_gap": of["calibrated"],
        "directed_gap": of["directed"],
        "log_odds_beyond_words": of["beyond"],
        "gap_beyond_words": of["beyond"],
        "position_preference": of["orders"],
        "analogies": of["all"],
        "left_out": of["all"],
    }


def nli(records):
    labels = ("entailment", "contradiction", "neutral")
    paper = [r for r in records if r["paper"]]
    answered = sum(r["answer"] in labels for r in paper)
    place = ("wording", "gender", "category", "domain", "attribute", "variant", "direction")

    def twins(of, *more):
        groups = grouped([r for r in of if r["answer"] in labels], *place, *more)
        return [rows for rows in groups.values() if len({r["favoured"] for r in rows}) == 2]

    both = twins(records, "placebo", "words")
    whole = grouped([rows[0] for rows in both], "words", "gender", "domain", "direction")
    parts = [of for of in whole.values() if len({(r["placebo"], r["effect"]) for r in of}) == 4]
    of_effect = [rows[0]["effect"] for rows in twins(paper)]
    return {
        "non_neutral": answered,
        **dict.fromkeys(labels, answered),
        "gap_beyond_words": sum(map(len, parts)),
        "raw_gap": sum(not r["placebo"] for of in parts for r in of),
        "halo_gap": of_effect.count("halo"),
        "horn_gap": of_effect.count("horn"),
        "left_out": len(paper),
    }


def pairs(records):
    place = ("axis", "wording", "variant", "gender", "desirable", "undesirable")
    likelihoods = ("desirable_likelihood", "undesirable_likelihood")
    answered = {
        key: [r for r in of if None not in [r[name] for name in likelihoods]]
        for key, of in grouped(records, *place).items()
    }
    # a neutral pair that was asked and not answered takes its place away
    lost = {
        key
        for key, of in grouped(records, *place).items()
        if any(r["sentiment"] == "neutral" and r not in answered[key] for r in of)
    }
    infused = [
        [r for r in of if r["sentiment"] != "neutral"]
        for key, of in answered.items()
        if key not in lost
    ]
    paper = [r for of in infused for r in of if r["paper"]]
    counted = [r for of in infused for r in of if len({r["sentiment"] for r in of}) == 2]
    contrast = sum(
        len(of)
        for of in grouped(paper, *place).values()
        if {r["sentiment"] for r in of} == {"positive", "negative"}
    )
    cells = grouped(counted, "axis", "words").values()
    parts = [of for of in cells if len({(r["placebo"], r["sentiment"]) for r in of}) == 4]
    by_order = [
        grouped([r for r in counted if not r["placebo"] and r["body_first"] is x], "axis", "words")
        for x in (True, False)
    ]
    body, attribute = (
        sum(len(of) for of in cells.values() if len({r["sentiment"] for r in of}) == 2)
        for cells in by_order
    )
    return {
        "raw_gap_body_first": body,
        "raw_gap_attribute_first": attribute,
        "gap_beyond_words": sum(map(len, parts)),
        "raw_gap": sum(not r["placebo"] for of in parts for r in of),
        **dict.fromkeys(("favouritism", "discrimination", "log_odds_gap"), contrast),
        "within_threshold": len(paper),
        "left_out": sum(r["paper"] for r in records),
    }


def intensities(records):
    named = [r for r in records if not r["placebo"]]
    names = {r["perceiver"] for r in named}
    size = len(names) ** 2
    events = {k: of for k, of in grouped(named, "event").items() if len(of) == size}

    def has(rows):
        return all(r["intensity"] is not None for r in rows)

    known = {r["perceiver"] for r in named if r["perceiver_group"] is not None}
    inner = {
        k: [r for r in of if r["perceiver"] in known and r["experiencer"] in known]
        for k, of in events.items()
    }
    used = {k for k, of in inner.items() if has(of)}
    placebos = grouped([r for r in records if r["placebo"]], "event")
    k = records[0]["placebos"]
    both = sum(len(placebos[e]) == k**2 and has(placebos[e]) for e in used)
    result = dict.fromkeys(
        (*("gap_points", "delta", "delta_p"), *("delta_null_low", "delta_null_high")), len(used)
    )
    whole = sum(map(has, events.values()))
    result |= dict.fromkeys(("mean_intensity", "std_intensity", "min_z", "max_z"), whole)
    result |= dict.fromkeys(("events", "events_m0", "unanswered_events"), len(events))
    masses = sum(r.get("number_mass") is not None for r in named)
    return result | {
        "gap_beyond_repetition": both,
        "left_out": len({r["event"] for r in records}),
        "refused": len(named),
        "unanswered": sum(map(len, events.values())),
        "number_mass": masses,
        "off_scale": masses,
    }


def pictures(records):
    """Groups with a score of a dimension have a rating of each of its facets."""
    groups = {r["group"] for r in records}
    result = {"groups": len(groups), "refused": len(records)}
    if "ratings" in records[0]:
        result["unanswered"] = sum(len(r["scales"]) for r in records)
    else:
        directions = grouped(records, "group", "item")
        both = [of for of in directions.values() if len(of) == 2 and all(r["points"] for r in of)]
        result |= {
            "left_out": len(directions),
            "direction_agreement": len(both),
            "rating_mass": sum(r["rating_mass"] is not None for r in records),
            "unanswered": len(records),
        }
    return result


COUNTS = {
    "bistereo.ANALOGY": analogy,
    "bistereo.NLI": nli,
    "bistereo.PAIRS": pairs,
    "empathy": intensities,
    "stereomap.ORIGINAL": pictures,
    "stereomap.BEHAVIOR_LIKELIHOOD": pictures,
}
NAMES = {name: count for name in ASKED for start, count in COUNTS.items() if name.startswith(start)}


@pytest.mark.parametrize("name", NAMES)
def test_each_number_has_the_n_of_its_own_units(name):
    _, records, summary = asked(name)
    counts = NAMES[name](records)
    counts["responds"] = 0  # no checks were asked
    counts["in_form"] = sum(r.get("in_form") is not None for r in records)
    wrong = {}
    for metric in EVERY[name].metrics:
        n = summary.values[metric.name].n
        expected = counts.get(metric.name, len(records))
        if name.startswith("stereomap") and metric.name not in counts:
            groups = counts["groups"]
            wrong |= {} if 0 <= n <= max(groups, 24) else {metric.name: (n, groups)}
            continue
        if n != expected:
            wrong[metric.name] = (n, expected)
        if metric.by in ("gender", "dimension", "side", "axis"):
            parts = sum(part.n for part in summary.groups[metric.name].values())
            wrong |= {} if parts == n else {f"groups of {metric.name}": (parts, n)}
    assert not wrong


def test_most_n_are_smaller_than_the_documents():
    """Else the test above would show nothing."""
    _, records, summary = asked("bistereo.ANALOGY")
    names = ("directed_preferences", "biased_preferences", "unanswered")
    first, second, third = (summary.values[name].n for name in names)
    assert first < second < third == len(records)
