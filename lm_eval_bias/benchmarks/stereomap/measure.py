"""StereoMap: warmth and competence of groups and their clusters, and what goes with them."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame as Frame

from lm_eval_bias.benchmarks.stereomap import exhibits
from lm_eval_bias.benchmarks.stereomap.ratings import (
    CLUSTERS,
    COMPETENCE,
    WARMTH,
    asked,
    clustered,
    rated,
    scale,
    scores,
)
from lm_eval_bias.exhibit import Table
from lm_eval_bias.likelihoods import mass, usable
from lm_eval_bias.measure import (
    Counted,
    Document,
    Measure,
    Metric,
    Number,
    Record,
    estimate,
    of_written,
    percentage,
    picked,
    with_intervals,
)
from lm_eval_bias.metrics.errors import Estimates, Floats, Value, ratio
from lm_eval_bias.metrics.group_scores import Scale, variation
from lm_eval_bias.metrics.partition import RandTest, paired_test, rand_test
from lm_eval_bias.metrics.rank_correlation import (
    RankCorrelation,
    correlations,
    interval,
    rank_correlation,
)

logger = logging.getLogger(__name__)

STATUS, COMPETITION = "Status", "Competition"
DIMENSIONS = {
    "original": (COMPETENCE, WARMTH, STATUS, COMPETITION),
    "extended": (COMPETENCE, WARMTH),
    "structure": (STATUS, COMPETITION),
    "emotion": ("Contempt", "Admire", "Pity", "Envy"),
    "behavior": ("Active Facilitation", "Active Harm", "Passive Facilitation", "Passive Harm"),
}
"""What each task gives numbers for; all else that it rates stands in its table `dimensions`."""
GREATEST_SPREAD = 2.0
"""With half of the groups at each end of the scale."""
ENDS = (1.0, 5.0)
"""Of the scale. No interval of a score goes beyond."""
UNSTABLE, MOST_UNSTABLE = 0.2, 0.5
"""A group that leaves its cluster in so many resamples is marked; with so many marked a sentence
says that clusters may be chance."""
LEAST_COVERAGE, LEAST_MASS, LEAST_ALIKE = 50, 50, 0.3
PAPER = "paper"
KEYS = ("part", "group", "scales", "published", "expected")
COUNTED = {"extended": "Overall", "emotion": "Contempt", "behavior": "Help"}
"""What the authors' rate of refusals looks at; of other prompts the only rating."""
STEPS = ("written", "lemma", "phrase")
"""How the dictionary knows a keyword."""
MAPPED, WORDED = ("original", "extended"), "extended"
"""The parts whose clusters are compared with others', and that which asks for keywords."""
BOTH = (COMPETENCE, WARMTH)
ROUNDING = 1e-9
Values = Mapping[str, Value]


# ---- Records


def record(doc: Document, results: Sequence[Any]) -> Record:
    """What `answers.survey` read: ratings by item, keywords, and what these are about."""
    read = results[0] if isinstance(results[0], Mapping) else {}
    return {
        **picked(doc, KEYS),
        "round": doc["round"],
        "style": doc["style"],
        "answer": "answered" if read else results[0],
        "ratings": dict(read.get("ratings", {})),
        "keywords": list(read.get("keywords", [])),
        "content": list(read.get("content", [])),
        "words": list(read.get("words", [])),
    }


def record_likelihood(doc: Document, results: Sequence[Any]) -> Record:
    """points: log-likelihoods of the five points, from the least to the most, whichever way the
    scale runs; None where they are not `usable`. rating_mass: that the answer begins with one."""
    values = [likelihood for likelihood, _ in results]
    points = values if doc["direction"] == "rising" else values[::-1]
    return {
        **picked(doc, KEYS),
        "item": doc["item"],
        "direction": doc["direction"],
        "points": list(map(float, points)) if usable(values) else None,
        "rating_mass": mass(values),
    }


# ---- Units: groups with all their ratings, ratings, answers


def units(answers: Frame, part: str, **_: Any) -> dict[str, Frame]:
    """Of answers in words, in the paper's prompt style but for `styles`."""
    ratings, groups = asked(answers), answers["group"].unique()
    of_styles = {style: rated(own, groups) for style, own in ratings.groupby("style", sort=False)}
    of_paper = answers[answers["style"] == PAPER]
    frames = _compared(of_styles[PAPER], answers, part)
    frames |= {"answers": of_paper, "ratings": ratings[ratings["style"] == PAPER]}
    x = frames["groups"]
    if part in MAPPED:
        for name in BOTH:
            x[f"{name.lower()}_cv"] = variation(scale(x, name).by_round)
        frames["styles"] = _styles(answers, of_styles)
    if part == WORDED:
        for key in ("words", "content"):
            of_groups = x[["group", "cluster", "place"]].merge(of_paper[["group", key]], on="group")
            words = of_groups.explode(key).dropna(subset=key)
            frames[key] = words.assign(
                word=words[key].str[0], how=words[key].str[1], about=words[key].str[-1]
            )
    return frames


def units_likelihood(answers: Frame, part: str, **_: Any) -> dict[str, Frame]:
    """A rating's expectation on the rising scale and on the falling one, and `rating`, that of
    their mean log-odds."""
    keys = ["group", "item"]
    places = [scales[item] for scales, item in zip(answers["scales"], answers["item"], strict=True)]
    x = answers.assign(round=1, dimension=[d for d, _ in places], facet=[f for _, f in places])
    both = x.pivot(index=keys, columns="direction", values="points")
    both = both.reindex(columns=["rising", "falling"]).dropna()
    rising, falling = (np.array([*both[name]], dtype=float).reshape(-1, 5) for name in both)
    means = {"rising": rising, "falling": falling, "rating": (rising + falling) / 2}
    expected = Frame({name: _expected(points) for name, points in means.items()}, both.index)
    ratings = x.drop_duplicates(keys).set_index(keys)[["round", "dimension", "facet"]]
    ratings = ratings.join(expected).join(x.groupby(keys)["direction"].nunique()).reset_index()
    groups = rated(ratings, answers["group"].unique())
    return {**_compared(groups, answers, part), "answers": answers, "ratings": ratings}


def _expected(log_likelihoods: Floats) -> Floats:
    """Shape (ratings, points) -> (ratings,)."""
    with np.errstate(invalid="ignore"):
        weights = np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))
    return ratio(weights @ np.arange(1, 6), weights.sum(axis=1))


def _compared(groups: Frame, answers: Frame, part: str) -> dict[str, Frame]:
    """The groups with their clusters, and what both are compared with. Clusters are those of all
    groups, whichever are left out."""
    groups["published"] = answers.drop_duplicates("group")["published"].tolist()
    if part == "structure":
        return {"groups": groups}
    groups = clustered(groups)
    clusters = _clusters(groups)
    groups["mixed"] = groups["cluster"].map(clusters["sign"]).isin(["<", ">"])
    result = {"groups": groups, "clusters": clusters}
    if part in MAPPED:
        source = next((source for sources in groups["published"] for source in sources), None)
        result["groups"] = _beside(groups, source)
    if part == "behavior":
        result["tendencies"] = _tendencies(groups, answers).assign(group=None)
    return result


def _clusters(groups: Frame) -> Frame:
    """Tables 2 and 5: mean scores, and the authors' paired t test over groups; beside it p over
    groups and rounds."""
    scales = [scale(groups, name) for name in BOTH]
    by_round = [one.by_round for one in scales]
    if all(one.repeats for one in scales):
        by_round = [groups[[name]].to_numpy() for name in BOTH]  # ten copies of an answer are one
    rows = []
    for k, x in groups[groups["cluster"] >= 0].groupby("cluster"):
        test = paired_test(x[COMPETENCE], x[WARMTH])
        rows.append(
            {
                "number": k,
                "cluster": x["place"].iloc[0],
                "groups": len(x),
                "members": ", ".join(x["group"]),
                "competence": x[COMPETENCE].mean(),
                "warmth": x[WARMTH].mean(),
                "sign": test.sign,
                "t": test.t,
                "p": test.p,
                "p_by_round": paired_test(*(own[x.index].ravel() for own in by_round)).p,
            }
        )
    return Frame(rows, columns=None if rows else ["number", "groups", "sign"])


def _agreement(groups: Frame) -> Frame:
    """With people, and with the models of the paper: adjusted Rand index of the clusters; rank
    correlation of our scores with the means of theirs."""
    rows = []
    for source in dict.fromkeys(source for sources in groups["published"] for source in sources):
        x = _beside(groups, source)
        test = _same_clusters(x)
        row = {
            "source": source,
            "groups": test.n,
            "agreement": test.value,
            "agreement_p": test.p,
            "chance_95": test.null_high,
        }
        for name in BOTH:
            found = rank_correlation(x[name], x[name.lower()])
            key = f"agreement_{name.lower()}"
            row |= {**estimate(key, _rho(found)), f"{key}_p": found.p, f"{key}_n": found.n}
        rows.append(row)
    return Frame(rows)


def _beside(groups: Frame, source: str | None) -> Frame:
    """Groups with what a source has of them."""
    names = ("cluster", "competence", "warmth")
    cells = [
        [sources.get(source, {}).get(name) for name in names] for sources in groups["published"]
    ]
    table = Frame(cells, columns=["in_print", "competence", "warmth"])
    return groups.assign(**table.astype({"competence": float, "warmth": float}))


def _same_clusters(x: Frame) -> RandTest:
    known = x[(x["cluster"] >= 0) & x["in_print"].notna()]
    return rand_test(known["cluster"], known["in_print"])


def _rho(correlation: RankCorrelation) -> Number:
    return Number(correlation.rho, nan, correlation.low, correlation.high, n=correlation.n)


def _tendencies(groups: Frame, answers: Frame) -> Frame:
    """Table 8: correlation over groups of stereotypes and emotions with tendencies."""
    expected: Mapping[str, Any] = next((people for people in answers["expected"] if people), {})
    rows = []
    for factor, people in expected.items():
        for tendency, (of_people, stars) in people.items():
            correlation = rank_correlation(scores(groups, factor), scores(groups, tendency))
            rows.append(
                {
                    "stereotype_or_emotion": factor,
                    "tendency": tendency,
                    "groups": correlation.n,
                    **estimate("rho", _rho(correlation)),
                    "stars": correlation.stars,
                    "p": correlation.p,
                    "rho_of_people": of_people,
                    "stars_of_people": stars,
                    "same_sign": None
                    if np.isnan(correlation.rho)
                    else bool(correlation.rho * of_people > 0),
                }
            )
    return Frame(
        rows, columns=None if rows else ["rho", "rho_of_people", "stars_of_people", "same_sign"]
    )


# ---- Values


def _column(dimension: str) -> str:
    return dimension.lower().replace(" ", "_").replace("-", "_")


def of_groups(x: Frame, total: Any, part: str, **_: Any) -> Values:
    n = total(1)
    values = {"groups": (n, n)}
    for dimension in DIMENSIONS[part]:
        name = _column(dimension)
        values[name], values[f"{name}_spread"] = scale(x, dimension).values(total)
    if part in MAPPED:
        test = _same_clusters(x)
        for name, value in (("agreement", test.value), ("agreement_p", test.p)):
            values[name] = np.full_like(n, value), np.full_like(n, test.n)
        kept = np.column_stack([total(group) for group in np.eye(len(x))])
        for name, (one, other) in RANKED.items():
            values[name] = tuple(y[:, None] for y in correlations(x[one], x[other], kept))
        inside, known = total(x["cluster"] >= 0), total(x["changed"].notna())
        values["mixed_groups"] = 100 * ratio(total(x["mixed"]), inside), inside
        values["unstable_groups"] = 100 * ratio(total(x["changed"] >= UNSTABLE), known), known
    for name in x.columns.intersection([metric.name for metric in VARIATION]):
        varied = total(x[name].notna())
        values[name] = ratio(total(x[name].fillna(0)), varied), varied
    return values


def with_items(
    x: Frame, sample: Any, by: Any, estimates: Mapping[str, Estimates], part: str, **_: Any
) -> Mapping[str, Estimates]:
    """The errors of means with items as a sample, too, and the intervals of spreads and of rank
    correlations."""
    result = {}

    def own(name: str, ends: tuple[Floats, Floats]) -> None:
        estimated = estimates[name]
        nothing = np.full_like(estimated.value, nan)
        result[name] = estimated._replace(variance=nothing, ends=ends)

    for dimension in DIMENSIONS[part]:
        name, scores_of = _column(dimension), scale(x, dimension)
        result[name] = scores_of.mean(estimates[name])
        low, high = scores_of.spread_ends
        own(f"{name}_spread", (np.array([low]), np.array([high])))
    for name in RANKED if part in MAPPED else ():
        own(name, interval(estimates[name].value, estimates[name].n))
    return result


def of_answers(x: Frame, total: Any, **_: Any) -> Values:
    n = total(1)
    if "answer" in x:
        return {"refused": (ratio(total(x["answer"] == "refused"), n), n)}
    known = total(x["rating_mass"].notna())
    masses = x["rating_mass"].astype(float).fillna(0)
    return {
        "rating_mass": (100 * ratio(total(masses), known), known),
        "unanswered": (100 * ratio(total(x["points"].isna()), n), n),
    }


def of_ratings(x: Frame, total: Any, **_: Any) -> Values:
    """direction_agreement: within items."""
    n = total(1)
    if "rising" not in x:
        return {"unanswered": (100 * ratio(total(x["rating"].isna()), n), n)}
    ends = x[["rising", "falling"]]
    away = (ends - ends.groupby(x["item"]).transform("mean")).fillna(0)
    one, other = (total(away[name] ** 2) for name in ends)
    varied = np.minimum(one, other) > ROUNDING**2
    alike = ratio(total(away["rising"] * away["falling"]), np.sqrt(one * other))
    return {
        "direction_agreement": (np.where(varied, alike, nan), total(x["rising"].notna())),
        "left_out": (total(x["direction"] < 2), n),
    }


def of_keywords(x: Frame, total: Any, **_: Any) -> Values:
    n = total(1)
    return {"keyword_coverage": (100 * ratio(total(x["how"].isin(STEPS)), n), n)}


def of_tendencies(x: Frame, total: Any, **_: Any) -> Values:
    """Signs are NaN if a correlation is undefined, and without any."""
    starred = x[x["stars_of_people"] != ""]
    signs = [
        rows["same_sign"].astype(float).sum(skipna=False, min_count=1) for rows in (x, starred)
    ]
    alike = rank_correlation(x["rho"], x["rho_of_people"])
    numbers = {
        "people_signs": (signs[0], len(x)),
        "people_signs_significant": (signs[1], len(starred)),
        "people_rho": (alike.rho, alike.n),
    }
    return {
        name: tuple(np.full_like(total(1), y) for y in number) for name, number in numbers.items()
    }


RANKED = {
    "agreement_competence": (COMPETENCE, "competence"),
    "agreement_warmth": (WARMTH, "warmth"),
    "competence_warmth": BOTH,
}
"""Rank correlations over groups, of two columns."""


# ---- Tables


def tables(
    frames: Mapping[str, Frame], rows: Callable[..., Any], part: str, **_: Any
) -> dict[str, Table]:
    groups = frames["groups"]
    result = {name: frames[name] for name in ("clusters", "styles") if name in frames}
    if part != "structure":
        result["agreement"] = _agreement(groups)
    if part in ("emotion", "behavior"):
        result["by_cluster"] = _by_cluster(groups, DIMENSIONS[part])
    if part == "behavior":
        result["tendencies"] = frames["tendencies"].drop(columns="group")
    if part == WORDED and "content" in frames:
        result |= _about_keywords(frames)
    of_scales = {name: _numbers(scale(groups, name)) for name in groups["scales"][0]}
    result["groups"] = _groups(frames, of_scales)
    result["dimensions"] = _dimensions(groups, of_scales)
    numbers: dict[str, Number] = {}
    for name in frames.keys() & {"answers", "ratings", "content"}:
        numbers |= rows(name)[0][1]
    notes = [*_notes(frames, numbers, part)]
    for note in notes:
        logger.warning("StereoMap, %s: %s", part, note)
    if notes:
        result["notes"] = Frame({"note": notes})
    return {name: frame.to_dict("records") for name, frame in result.items()}


def _numbers(scores_of: Scale) -> Frame:
    """The groups' scores, in the columns of a number."""
    numbers = with_intervals(Metric("", "points", "", scale=ENDS), scores_of.estimates)
    return Frame([estimate("mean", number._replace(n=None)) for number in numbers])


def _groups(frames: Mapping[str, Frame], of_scales: Mapping[str, Frame]) -> Frame:
    """Each group's scores and cluster; of answers in words its refusals (Figure 5)."""
    groups, answers, ratings = (frames[name] for name in ("groups", "answers", "ratings"))
    by_group = answers.groupby("group")
    table = groups[["group"]].assign(answers=groups["group"].map(by_group.size()))
    if "answer" in answers:
        counted = ratings["part"].map(COUNTED).fillna(ratings["item"]) == ratings["item"]
        by_part = ratings[counted].assign(no=ratings["rating"].isna()).groupby(["group", "part"])
        columns = {
            "refused": (answers["answer"] == "refused").groupby(answers["group"]).mean(),
            "unanswered": 100 * ratings["rating"].isna().groupby(ratings["group"]).mean(),
            # By the authors' count_nans: without the `COUNTED` rating, a mean over prompts.
            "unrated": by_part["no"].mean().groupby("group").mean(),
        }
        table = table.assign(
            **{name: groups["group"].map(values) for name, values in columns.items()}
        )
    if "cluster" in groups:
        changed = groups["changed"]
        unstable = (changed >= UNSTABLE).astype(object).where(changed.notna(), None)
        table = table.assign(cluster=groups["place"], left_its_cluster=changed, unstable=unstable)
    for name, own in of_scales.items():
        columns = {column: column.replace("mean", _column(name)) for column in own}
        table = table.join(own.rename(columns=columns))
    return table


def _dimensions(groups: Frame, of_scales: Mapping[str, Frame]) -> Frame:
    """Table 9: each group's mean and variance over rounds; by dimension, the highest first."""
    table = []
    for dimension, own in of_scales.items():
        x = Frame({"dimension": dimension, "group": groups["group"]}).join(own)
        x["variance"] = Frame(scale(groups, dimension).by_round).var(axis=1)
        table.append(x.iloc[np.argsort(-scores(groups, dimension), kind="stable")])
    return pd.concat(table) if table else Frame()


def _by_cluster(groups: Frame, names: Sequence[str]) -> Frame:
    """Figure 3: the groups' scores of an emotion or a tendency in each cluster."""
    five = {
        "min": "least",
        "25%": "lower_quartile",
        "50%": "median",
        "75%": "upper_quartile",
        "max": "greatest",
    }
    x = groups[["cluster", "place"]].assign(**{name: scores(groups, name) for name in names})
    x = x[x["cluster"] >= 0].sort_values("cluster").rename(columns={"cluster": "number"})
    if x.empty:
        return x
    x = x.melt(["number", "place"], var_name="dimension")
    table = (
        x.groupby(["dimension", "number", "place"], sort=False)["value"].describe().reset_index()
    )
    table = table.rename(columns={"place": "cluster", "count": "groups", **five})
    table = table.astype({"groups": int}).assign(variance=table["std"] ** 2)
    return table[["dimension", "number", "cluster", "groups", "mean", "variance", *five.values()]]


def _about_keywords(frames: Mapping[str, Frame]) -> dict[str, Frame]:
    """Figures 4, 7 and 8: what keywords are about; Table 15: coverage."""
    keywords = frames["content"]
    known = keywords["how"].value_counts().reindex(STEPS, fill_value=0).cumsum()
    coverage = Frame({"found": STEPS, "known": known.to_numpy()})
    coverage["keyword_coverage"] = 100 * ratio(coverage["known"], len(keywords))
    tables = {"keyword_coverage": coverage}
    for key, kind in (("words", "words"), ("content", "keywords")):
        x = frames[key]
        inside = x[x["cluster"] >= 0].sort_values("cluster", kind="stable")
        for column, words in (("cluster", inside.assign(cluster=inside["place"])), ("group", x)):
            table = _about(words, column, once=key == "words")
            if len(table):
                tables[f"{kind}_by_{column}"] = table
    return tables


def _about(x: Frame, column: str, once: bool) -> Frame:
    """Dimensions of each name's keywords. direction: sum of 1 for high and -1 for low, over all
    keywords; `once`, as the authors count: of distinct words, over the entries of all dimensions.
    """
    x = x.drop_duplicates([column, "word"]) if once else x
    entries = x.explode("about").dropna(subset="about")
    entries = entries.assign(dimension=entries["about"].str[0], sign=entries["about"].str[1])
    table = entries.groupby([column, "dimension"], sort=False)["sign"].agg(["size", "sum"])
    table = table.rename(columns={"size": "keywords"}).reset_index()
    most = table[column].map((entries if once else x)[column].value_counts())
    table = table.assign(percent=100 * table["keywords"] / most, direction=table["sum"] / most)
    names = {name: i for i, name in enumerate(x[column].unique())}
    size = table["direction"].abs() if once else table["keywords"]
    table = table.assign(place=table[column].map(names), size=-size)
    table = table.sort_values(["place", "size"], kind="stable")
    table["rank"] = table.groupby(column).cumcount() + 1
    return table[[column, "rank", "dimension", "keywords", "percent", "direction"]]


def _styles(answers: Frame, of_styles: Mapping[str, Frame]) -> Frame:
    """Tables 13 and 14: refusals, and variation of scores over rounds: of each prompt style, and
    together with the paper's style."""
    rows = []
    for style, own in answers.groupby("style", sort=False):
        refused = float((own["answer"] == "refused").mean())
        row = {"style": style, "answers": len(own), "refused": refused}
        for column, together in (("cv", [style]), ("cv_with_paper", {PAPER: 0, style: 0})):
            for name in BOTH:
                scores = [scale(of_styles[of_style], name).by_round for of_style in together]
                # A group without a score in one style would be compared with itself in the others.
                everywhere = np.all([~np.isnan(s).all(axis=1) for s in scores], axis=0)
                cv = pd.Series(variation(np.concatenate(scores, axis=1)[everywhere]))
                key = f"{name.lower()}_{column}"
                row |= {key: cv.mean(), f"{key}_max": cv.max(), f"{key}_n": cv.count()}
        rows.append(row)
    return Frame(rows)


# ---- Notes


def _notes(frames: Mapping[str, Frame], numbers: Mapping[str, Number], part: str) -> Iterator[str]:
    """What numbers and tables do not show. numbers: those of the whole."""
    groups, ratings = frames["groups"], frames["ratings"]
    if part != "structure":
        yield from _doubts(groups, frames["clusters"])
    if "keyword_coverage" in numbers:
        percent = numbers["keyword_coverage"].value
        if np.isnan(percent):
            yield "No answer holds a keyword that can be read."
        elif percent < LEAST_COVERAGE:
            yield (
                f"The dictionary knows only {percent:.0f} % of the keywords; what they are about "
                "is not representative."
            )
    if lacking := "; ".join(_incomplete(groups, ratings, part)):
        yield (
            "These ratings are missing, so the scores of these groups do not compare with those of "
            f"the others: {lacking}."
        )
    if "rating_mass" not in numbers:
        if ratings.duplicated(["group", "round", "part", "item"]).any():
            yield (
                "Several answers to a prompt in a round count as one, their mean, which varies "
                "less; `rounds` asks for more rounds."
            )
        return
    if (rating_mass := numbers["rating_mass"].value) < LEAST_MASS:
        yield (
            f"The five points have {rating_mass:.0f} % of the probability; the model would rather "
            "say something else."
        )
    if (alike := numbers["direction_agreement"].value) < LEAST_ALIKE:
        yield (
            "The two directions of the scale put the groups in different order (correlation "
            f"{alike:.2f}): the model chooses a point with little regard to what it stands for, "
            "and what differs between groups is what remains of that."
        )


def _doubts(groups: Frame, clusters: Frame) -> Iterator[str]:
    """What clusters do not show: k-means finds them in noise, and signs in words that are rated
    higher of all."""
    known = groups[[COMPETENCE, WARMTH]].notna().all(axis=1)
    if not known.all():
        yield (
            "Left out of the clusters, since no answer rated their warmth and competence: "
            f"{', '.join(groups['group'][~known])}."
        )
    if clusters.empty:
        places = groups[known].drop_duplicates([COMPETENCE, WARMTH])
        yield (
            f"No clusters: {CLUSTERS} different places are needed, and the groups with warmth and "
            f"competence ({known.sum()}) have {len(places)}."
        )
        return
    changed = groups["changed"].dropna()
    if changed.empty:
        yield "With one rating of each group it is unknown how firmly it lies in its cluster."
    unstable = percentage((changed >= UNSTABLE).sum(), len(changed))
    alike = all(scale(groups, name).spread_ends[0] == 0 for name in BOTH)
    if alike or unstable >= 100 * MOST_UNSTABLE:
        why = (
            "by neither competence nor warmth do groups differ for certain"
            if alike
            else f"{unstable:.0f} % of groups are unstable"
        )
        yield f"The clusters may be chance, with their signs and their agreement: {why}."
    (sign, *others) = clusters["sign"].unique()
    if not others and sign != "=":
        higher, lower = BOTH if sign == ">" else BOTH[::-1]
        yield (
            f"{higher} is above {lower.lower()} in every cluster: its words may be rated higher of "
            "anyone, and mixed_groups are all groups."
        )


def _incomplete(groups: Frame, ratings: Frame, part: str) -> Iterator[str]:
    """Items of which groups with a score lack a rating that others have."""
    rated = ratings.groupby(["item", "group"])["rating"].count().unstack() > 0
    for name in dict.fromkeys((*(BOTH if part != "structure" else ()), *DIMENSIONS[part])):
        scored = groups["group"][scale(groups, name).scored]
        for item in ratings["item"][ratings["dimension"] == name].unique():
            own = rated.loc[item].reindex(scored, fill_value=False)
            if own.any() and not own.all():
                yield f"{item} of {', '.join(own.index[~own])}"


# ---- What is measured

_exact = partial(Metric, stderr=False, primary=True)
_ranked = partial(Metric, unit="score")

AGREEMENT = (
    _exact(
        "agreement",
        "score",
        "Adjusted Rand index of the five clusters and those of people (Fiske 2002, Table 2) or of "
        "one's own file.",
        cell="Table 2",
    ),
    _exact("agreement_p", "p", "One-sided p of agreement, by permutation."),
    _ranked(
        "agreement_competence",
        description="Rank correlation of the groups' competence and that of their clusters among "
        "people.",
        primary=True,
    ),
    _ranked("agreement_warmth", description="The same of warmth.", primary=True),
    _exact(
        "mixed_groups",
        "%",
        "Groups in clusters whose competence and warmth differ at .001.",
        cell="Tables 2 and 5",
    ),
    _exact(
        "unstable_groups",
        "%",
        "Groups that leave their cluster in a fifth of resamples of rounds and items.",
        better="lower",
    ),
    # Near 1 where a model says of a group how much it is liked, and nothing else.
    _ranked(
        "competence_warmth", description="Rank correlation of competence and warmth over groups."
    ),
)
PEOPLE = (
    _exact(
        "people_signs",
        "count",
        "Of the 24 correlations with a tendency, those with the sign that is printed for people "
        "(Cuddy 2007).",
        cell="Table 8",
    ),
    _exact("people_signs_significant", "count", "The same of the 16 that are significant there."),
    _exact("people_rho", "score", "Rank correlation of the 24 correlations with those of people."),
)
BY_LIKELIHOOD = (
    _exact("unanswered", "%", "Questions whose likelihoods are no numbers.", better="lower"),
    _exact(
        "rating_mass",
        "%",
        "Mean probability that the answer begins with one of the five points.",
        better="higher",
    ),
    _exact(
        "direction_agreement",
        "score",
        "Correlation over groups of a rating on the rising scale and on the falling one: 1 where "
        "the scale is read, -1 where one point is chosen whichever way the scale runs.",
        better="higher",
    ),
    _exact(
        "left_out",
        "count",
        "Ratings of which a limit cut off one direction of the scale.",
        better="lower",
        primary=False,
    ),
)
VARIATION = (
    _exact(
        "competence_cv",
        "share",
        "Coefficient of variation of competence over rounds, mean over groups.",
        cell="Table 13",
        primary=False,
    ),
    _exact("warmth_cv", "share", "The same of warmth.", cell="Table 13", primary=False),
)
KEYWORDS = (
    _exact(
        "keyword_coverage",
        "%",
        "Keywords that the dictionary knows.",
        better="higher",
        cell="Table 15",
    ),
)
ANSWERS = (
    _exact(
        "refused",
        "share",
        "Answers that decline; Figure 5 counts those without a readable rating too.",
        better="lower",
        cell="Figure 5",
    ),
    _exact(
        "unanswered",
        "%",
        "Ratings that were asked for and cannot be read, refused ones too.",
        better="lower",
    ),
)
BOTH_WAYS = {"original": AGREEMENT, "extended": AGREEMENT, "behavior": PEOPLE}
IN_WORDS = {"original": VARIATION, "extended": (*VARIATION, *KEYWORDS)}


def _scores(part: str) -> list[Metric]:
    metrics = [_exact("groups", "count", "Groups that were asked about.")]
    for dimension in DIMENSIONS[part]:
        what = dimension.lower()
        metrics += [
            Metric(
                f"{_column(dimension)}_spread",
                "points",
                f"Standard deviation of the groups' {what}, without what rounds and items add by "
                "chance.",
                scale=(0, GREATEST_SPREAD),
                primary=part != "original" or dimension in (COMPETENCE, WARMTH),
            ),
            # How much higher a model rates anyone on the four ratings of a scale says little of how
            # it would on others.
            Metric(
                _column(dimension),
                "points",
                f"Mean {what} of all groups, from 1 to 5.",
                scale=ENDS,
                paired=False,
            ),
        ]
    return metrics


def _measure(part: str, in_words: bool) -> Measure:
    metrics = [*_scores(part), *BOTH_WAYS.get(part, ())]
    values: dict[str, Callable[..., Values]] = {
        "groups": of_groups,
        "answers": of_answers,
        "ratings": of_ratings,
    }
    if part == "behavior":
        values["tendencies"] = of_tendencies
    if in_words and part == WORDED:
        values["content"] = of_keywords
    metrics += [*IN_WORDS.get(part, ()), *ANSWERS] if in_words else BY_LIKELIHOOD
    # Ratings and rounds are samples too, but a scale has four ratings: two models are compared on
    # groups.
    clusters = (("group",),)
    measure = Measure(
        record if in_words else record_likelihood,
        Counted(
            partial(units if in_words else units_likelihood, part=part),
            {name: partial(function, part=part) for name, function in values.items()},
            metrics,
            clusters,
            partial(tables, part=part),
            {"groups": partial(with_items, part=part)},
        ),
        metrics,
        repeats=in_words,
        exhibits=(exhibits.generated if in_words else exhibits.likelihood)(part),
        clusters=clusters,
    )
    return of_written(measure) if in_words else measure


ORIGINAL, EXTENDED, STRUCTURE, EMOTION, BEHAVIOR = (_measure(part, True) for part in DIMENSIONS)
(
    ORIGINAL_LIKELIHOOD,
    EXTENDED_LIKELIHOOD,
    STRUCTURE_LIKELIHOOD,
    EMOTION_LIKELIHOOD,
    BEHAVIOR_LIKELIHOOD,
) = (_measure(part, False) for part in DIMENSIONS)
