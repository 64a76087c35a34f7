"""Each number's n counts its own units. Here they are counted again, from the records of answers by
chance, of which some are refused, unreadable, undefined or were not asked."""

from collections import Counter, defaultdict

import pandas as pd
import pytest
from test_measure import ASKED, EVERY, asked

# ---- Counted again


def grouped(records, *columns):
    groups = defaultdict(list)
    for r in records:
        groups[tuple(r[column] for column in columns)].append(r)
    return groups


def analogy(records):
    of, written = Counter(), "answer" in records[0]

    def has(rows):
        if not written:
            return all(r["log_odds"] is not None for r in rows)
        return {1, 2} <= {r["first"] for r in rows if r["answer"] in ("biased", "unbiased")}

    for rows in grouped(records, "analogy", "axis", "gender").values():
        by = {name: some for (name,), some in grouped(rows, "context").items()}
        own, free, swapped = (by.get(k, []) for k in ("stereotype", "content-free", "swapped"))
        complete = bool(own) and has(own)
        of["all"] += 1
        of["biased"] += complete
        if written:
            of["calibrated"] += complete and any(map(has, grouped(free, "c").values()))
        else:
            of["calibrated"] += complete and has(free) and len(free) == rows[0]["content_free"]
        directed = complete and bool(swapped) and has(swapped)
        of["directed"] += directed
        placebos = [by.get(k) for k in ("placebo", "placebo swapped")]
        of["beyond"] += directed and all(some and has(some) for some in placebos)
    if written:
        questions = grouped(records, "analogy", "axis", "gender", "context", "c")
        of["orders"] = sum(map(has, questions.values()))
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
    labels = ["entailment", "contradiction", "neutral"]
    x = pd.DataFrame(records)
    answered = x[x["answer"].isin(labels)]
    place = ["wording", "gender", "category", "domain", "attribute", "variant", "direction"]
    shared = answered.groupby([*place, "placebo", "words"], dropna=False)
    twins = answered[(shared["favoured"].transform("nunique") == 2) & answered["favoured"]]
    part = twins["effect"] + twins["placebo"].astype(str)
    cells = part.groupby([twins[c] for c in ("words", "gender", "domain", "direction")])
    parts = twins[cells.transform("nunique") == 4]
    effects = Counter(twins["effect"][twins["paper"]])
    return {
        **dict.fromkeys(("non_neutral", *labels), sum(answered["paper"])),
        "gap_beyond_words": len(parts),
        "raw_gap": sum(~parts["placebo"]),
        "halo_gap": effects["halo"],
        "horn_gap": effects["horn"],
        "left_out": sum(x["paper"]),
    }


def pairs(records):
    x = pd.DataFrame(records)
    x["place"] = x.groupby(
        ["axis", "wording", "variant", "gender", "desirable", "undesirable"], dropna=False
    ).ngroup()
    lost = x[["desirable_likelihood", "undesirable_likelihood"]].isna().any(axis=1)
    neutral = x["sentiment"] == "neutral"
    # a neutral pair that was asked and not answered takes its place away
    infused = x[~lost & ~neutral & ~x["place"].isin(x["place"][lost & neutral])]
    both = infused[infused.groupby("place")["sentiment"].transform("nunique") == 2]

    def whole(rows, sorts):
        """Those of the axes and words that have so many sorts of rows."""
        sort = rows["sentiment"] + rows["placebo"].astype(str)
        return rows[sort.groupby([rows["axis"], rows["words"]]).transform("nunique") == sorts]

    bodies, parts = both[~both["placebo"]], whole(both, 4)
    return {
        "raw_gap_body_first": len(whole(bodies[bodies["body_first"]], 2)),
        "raw_gap_attribute_first": len(whole(bodies[~bodies["body_first"]], 2)),
        "gap_beyond_words": len(parts),
        "raw_gap": sum(~parts["placebo"]),
        "within_threshold": sum(infused["paper"]),
        "left_out": sum(x["paper"]),
    }


def intensities(records):
    x = pd.DataFrame(records)
    named, placebos = x[~x["placebo"]], x[x["placebo"]]

    def asked_whole(rows, people):
        return rows[rows.groupby("event")["event"].transform("size") == people**2]

    def answered(rows):
        """The events of which every pair has a number."""
        known = rows["intensity"].notna().groupby(rows["event"]).all()
        return {*known.index[known]}

    asked_of = asked_whole(named, named["perceiver"].nunique())
    used = answered(asked_of.dropna(subset=["perceiver_group", "experiencer_group"]))
    beside = answered(asked_whole(placebos, x["placebos"][0]))
    gaps = ("gap_points", "delta", "delta_p", "delta_null_low", "delta_null_high")
    of_matrix = ("mean_intensity", "std_intensity", "min_z", "max_z")
    counts = ("events", "events_m0", "unanswered_events")
    return {
        **dict.fromkeys(gaps, len(used)),
        **dict.fromkeys(of_matrix, len(answered(asked_of))),
        **dict.fromkeys(counts, asked_of["event"].nunique()),
        "gap_beyond_repetition": len(used & beside),
        "left_out": x["event"].nunique(),
        "refused": len(named),
        "unanswered": len(asked_of),
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
            continue
        if n != expected:
            wrong[metric.name] = (n, expected)
        if metric.by in ("gender", "dimension", "side", "axis"):
            parts = sum(part.n for part in summary.groups[metric.name].values())
            wrong |= {} if parts == n else {f"groups of {metric.name}": (parts, n)}
    assert not wrong
