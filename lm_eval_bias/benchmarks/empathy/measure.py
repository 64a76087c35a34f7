"""The empathy gap: delta with its test and interval, M0 and M (Tables 2 to 7, Figures 2 and 4)."""

from collections.abc import Sequence
from functools import partial
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from lm_eval_bias.benchmarks.empathy import exhibits
from lm_eval_bias.exhibit import Table
from lm_eval_bias.likelihoods import probabilities
from lm_eval_bias.measure import (
    REFUSED,
    UNANSWERED,
    Counted,
    Document,
    Frames,
    GroupRows,
    Measure,
    Metric,
    Record,
    estimates,
    of_written,
    select_columns,
    with_checks,
)
from lm_eval_bias.metrics.empathy_gap import (
    complete,
    delta,
    masked,
    mean_intensity,
    normalise,
    paired_tests,
    permutation_test,
    points_gap,
    with_groups,
)
from lm_eval_bias.metrics.errors import Values, means, ratio

KEYS = (
    "event",
    "emotion",
    "valence",
    "perceiver",
    "perceiver_group",
    "perceiver_culture",
    "experiencer",
    "experiencer_group",
    "placebo",
    "placebos",
)
CLUSTERS = (("event",),)
ROLES = "perceiver", "experiencer"
POINTS = {
    "gap_points": ("used", ["named"]),
    "gap_beyond_repetition": ("both", ["beside", "placebos"]),
}
"""Of each gap in points the events and matrices that it counts."""
SHARES = ["unanswered", "refused"]
PERPLEXITY, TSNE_SEED = 5, 42
"""Of t-SNE, in the authors' program."""

_exact = partial(Metric, stderr=False)
_shown = partial(_exact, primary=True)
GAPS = (
    Metric(
        "gap_beyond_repetition",
        "points",
        "gap_points less the gap of placebo groups, which comes from repeated words alone.",
        null_value=0,
        question="In the role of a person of one {category}, does the model expect stronger "
        "feelings in people of the same {category} than in others?",
        counted="events",
        primary=True,
        raw="gap_points",
        placebos="groups that nobody feels for, named twice,",
    ),
    Metric(
        "gap_points",
        "points",
        "Mean intensity of pairs of the same group less that of other pairs; groups "
        "count alike, repeated words raise it too.",
        null_value=0,
        counted="events",
        above="{size} of the scale more for its own group",
        below="{size} of the scale more for other groups",
        primary=True,
    ),
    Metric(
        "delta",
        "SD",
        "Mean of M over pairs of the same group less that over other pairs, without the"
        " unspecified person; repeated words raise it too.",
        primary=True,
        cell="Table 2",
    ),
    _shown("delta_p", "p", "Two-sided p of delta, by structured permutation."),
    _shown(
        "mean_intensity",
        "points",
        "Mean of M0, the mean intensities of all pairs.",
        cell="Table 3, mean",
    ),
    _shown(
        "events", "count", "Events in delta and the gaps: every pair of named groups has a number."
    ),
    UNANSWERED,
    _shown(
        "unanswered_events",
        "%",
        "Events that lack the number of a pair.",
        better="lower",
        cell="Table 6",
    ),
    _exact(
        "events_m0",
        "count",
        "Events in M0 and M: every pair has a number, the unspecified person's too.",
    ),
    _exact("left_out", "count", "Events cut off by a limit.", better="lower"),
    _exact(
        "delta_null_low",
        "SD",
        "2.5th percentile of delta without a gap.",
        cell="Table 2, lower bound",
    ),
    _exact(
        "delta_null_high",
        "SD",
        "97.5th percentile of delta without a gap.",
        cell="Table 2, upper bound",
    ),
    _exact(
        "std_intensity", "points", "Standard deviation of M0.", cell="Table 3, standard deviation"
    ),
    _exact("min_z", "SD", "Least cell of M, which is M0 standardised.", cell="Table 7, minimum"),
    _exact("max_z", "SD", "Greatest cell of M.", cell="Table 7, maximum"),
)


def record(doc: Document, results: Sequence[float | str]) -> Record:
    answer = results[0]
    return {
        **select_columns(doc, KEYS),
        "intensity": None if isinstance(answer, str) else answer,
        "refused": answer == "refused",
    }


def record_likelihood(doc: Document, results: Sequence[Sequence[Any]]) -> Record:
    """Likelihoods of the `documents.sentences` -> `intensity`, their expectation from 0 to 100.
    None where a likelihood is not a number."""
    p = probabilities([likelihood for likelihood, *_ in results[0][-1]])
    degrees = np.linspace(0, 100, len(p)) if p else ()
    return {**select_columns(doc, KEYS), "intensity": float(np.dot(degrees, p)) if p else None}


def units(answers: Any, missing: str, **_: Any) -> Frames:
    """Answers about people with names, and the events begun with their matrices: of M0 (people), of
    the named groups (named), and of these (beside) and the placebos for the gap beyond repetition.

    Unless missing is "pairwise", an event counts where every pair has a number. The authors'
    program leaves events out of delta for refusals among named groups alone, of M0 and of Table 6
    for all.
    """
    pairwise, placebo = missing == "pairwise", answers["placebo"].astype(bool)
    answers = answers.assign(intensity=answers["intensity"].astype(float))
    events = answers.drop_duplicates("event")[["event", "emotion", "valence"]]
    people, k = answers[~placebo], answers["placebos"].iloc[0]
    given, asked = matrices(people, events, 2)  # one pair alone is not an event asked as a whole
    others, placebos_asked = matrices(answers[placebo], events, k or 1)
    groups = people.drop_duplicates("perceiver")["perceiver_group"]
    known = np.flatnonzero(groups.notna() | (len(groups) < 2))
    named = given[:, known][:, :, known]
    used, in_matrix = (asked & (pairwise | complete(x)) for x in (named, given))
    both = used & (pairwise | complete(others))
    stacks = {
        "people": (in_matrix, given),
        "named": (used, named),
        "beside": (both, named),
        "placebos": (both, others),
    }
    events = events.assign(
        asked=asked,
        left_out=~asked | (~placebos_asked & (k > 0)),
        unanswered=~complete(given) & asked,
        in_matrix=in_matrix,
        used=used,
        both=both,
        groups=[groups.iloc[known].tolist()] * len(events),
        **{
            name: list(np.where(there[:, None, None], x, nan))
            for name, (there, x) in stacks.items()
        },
    )
    whole = people["event"].isin(events["event"][asked])
    people = people.assign(unanswered=people["intensity"].isna().where(whole))
    people = people.assign(**100 * people.reindex(columns=SHARES).astype(float))
    return {"gaps": events, "matrix": events, "answers": people}


def matrices(answers: Any, events: Any, least: int) -> tuple[Any, Any]:
    """The intensities of each event, and whether all of it was asked; NaN if not. least: number of
    perceivers. Several answers to one document count as the mean of their numbers."""
    event = pd.Index(events["event"]).get_indexer(answers["event"])
    roles = [pd.factorize(answers[role])[0] for role in ROLES]
    size = max(least, *(role.max(initial=-1) + 1 for role in roles))
    place, shape = (event * size + roles[0]) * size + roles[1], (len(events), size, size)
    count = partial(np.bincount, place, minlength=len(events) * size**2)
    asked = np.all((count() > 0).reshape(shape), axis=(1, 2))
    there = answers["intensity"].notna()
    means = ratio(count(answers["intensity"].fillna(0)), count(there)).reshape(shape)
    return np.where(asked[:, None, None], means, nan), asked


def of_gaps(x: Any, total: Any) -> Values:
    groups, n = x["groups"].iloc[0], total(x["used"])
    m0 = {
        name: mean_intensity(np.stack(x[name]), total) for name in ("named", "beside", "placebos")
    }
    values = {"events": (n, total(x["asked"])), "delta": (delta(m0["named"], groups), n)}
    for name, (counted, columns) in POINTS.items():
        values[name] = points_gap(groups, *(m0[c] for c in columns)), total(x[counted])
    return values


def widened(x: Any, sample: Any, by: Any, estimates: Frames) -> Frames:
    groups, result = x["groups"].iloc[0], {}
    for name, (_of, columns) in POINTS.items():
        estimated = estimates[name]
        errors = [
            with_groups(groups, *(np.stack(x[column][by == part]) for column in columns))
            for part in range(len(estimated.value))
        ]
        variance, df = np.concatenate([(e.variance, e.df) for e in errors], axis=1)
        result[name] = estimated._replace(variance=variance + 0 * estimated.variance, df=df)
    return result


def of_matrix(x: Any, total: Any) -> Values:
    asked, used, n = (total(x[name]) for name in ("asked", "used", "in_matrix"))
    named, m0 = (mean_intensity(np.stack(x[name]), total) for name in ("named", "people"))
    groups, m, cells = x["groups"].iloc[0], normalise(m0), (-2, -1)
    test = permutation_test(named[0, 0], groups)
    return {
        "events_m0": (n, asked),
        "unanswered_events": (100 * ratio(total(x["unanswered"]), asked), asked),
        "left_out": (total(x["left_out"]), total(1)),
        "mean_intensity": (m0.mean(cells), n),
        "std_intensity": (m0.std(cells), n),
        "min_z": (m.min(cells), n),
        "max_z": (m.max(cells), n),
        "delta_p": (used * 0 + test.p, used),
        "delta_null_low": (used * 0 + test.low, used),
        "delta_null_high": (used * 0 + test.high, used),
    }


def tables(units: Frames, rows: GroupRows) -> dict[str, Table]:
    """pairs (M0, M, tests and mask: Figure 2), emotions and valences (their gaps), perceivers
    (Figure 4)."""

    def lines(*columns: str) -> Table:
        return [
            {**names, "events": int(numbers["events"].value)}
            | estimates(numbers, ("delta", "gap_points", "gap_beyond_repetition"))
            for names, numbers in rows("gaps", *columns)
        ]

    valences = lines("valence")
    return {
        **of_pairs(units["answers"].astype(object), np.stack(units["matrix"]["people"])),
        "emotions": lines("emotion", "valence"),
        "valences": [
            row for v in ("positive", "negative") for row in valences if row["valence"] == v
        ],
    }


def of_pairs(answers: Any, given: Any) -> dict[str, Table]:
    answers = answers.where(answers.notna(), None)
    people = ["perceiver", "perceiver_group", "perceiver_culture"]
    perceivers = answers.drop_duplicates("perceiver")[people]
    g, known = len(perceivers), perceivers["perceiver_group"].notna().to_numpy()
    others = answers.drop_duplicates("experiencer")[["experiencer", "experiencer_group"]][:g]
    m0, (one, two) = mean_intensity(given), (paired_tests(given, role) for role in ROLES)
    z = normalise(m0)
    numbers = {
        "mean_intensity": m0,
        "z": z,
        "p_against_perceiver": one,
        "p_against_experiencer": two,
        "masked": masked([one, two], np.flatnonzero(~known)),
    }
    cells = {name: matrix[:g, : len(others)].ravel() for name, matrix in numbers.items()}
    pairs = perceivers[people[:2]].merge(others, how="cross").assign(**cells)
    x, y = projected(z[:g][known]).T
    places = perceivers[known].assign(x=x, y=y)
    return {"pairs": pairs.to_dict("records"), "perceivers": places.to_dict("records")}


def projected(rows: np.ndarray) -> np.ndarray:
    """Figure 4: t-SNE of the perceivers' rows of M, shape (perceivers, names) -> (perceivers, 2).

    NaN without M, and with too few perceivers. Source: section 5.2.
    """
    if len(rows) <= PERPLEXITY or np.isnan(rows).any():
        return np.full((len(rows), 2), nan)
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    # Threads that wait for one another take a thousand times as long on so little.
    with threadpool_limits(1):
        tsne = TSNE(n_components=2, perplexity=PERPLEXITY, random_state=TSNE_SEED)
        return np.asarray(tsne.fit_transform(rows), dtype=float)


COUNTED = Counted(
    units,
    {"gaps": of_gaps, "matrix": of_matrix, "answers": means(*SHARES)},
    tables,
    {"gaps": widened},
)
GENERATED = of_written(
    Measure(
        record,
        COUNTED,
        (*GAPS, REFUSED),
        repeats=True,
        exhibits=exhibits.GENERATED,
        clusters=CLUSTERS,
    ),
    lambda doc, answer: () if isinstance(answer, str) else [round(answer)],
)
LIKELIHOOD = with_checks(
    Measure(record_likelihood, COUNTED, GAPS, exhibits=exhibits.LIKELIHOOD, clusters=CLUSTERS)
)
