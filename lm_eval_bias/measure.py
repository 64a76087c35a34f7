"""A measure: answers become records, records a summary; each number is declared here once.

How a measure is written (benchmarks/hbb/measure.py is an example):

1. `record(document, results)`: what is kept of an answer, plain data.
2. `units(records, **options)`: name -> data frame of what is counted, with the columns that name
   clusters and groups.
3. `values(units, total)`, for each frame: metric -> (number, n), from `total(column)` alone, as
   `metrics.errors.means` does. The engine there makes groups and errors.
4. `Metric`s and `clusters` of the `Measure`.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from math import inf, isnan, nan
from typing import Any, Literal, NamedTuple

from lm_eval_bias.data.systematic_errors import of_our_items, systematic_errors
from lm_eval_bias.exhibit import Ends, Exhibit, Table, raw_rows
from lm_eval_bias.likelihoods import UNSEEN, of_server, probabilities, usable, without_unseen
from lm_eval_bias.usage import WORDING, Options, UsageError

Record = dict[str, Any]
Records = Sequence[Mapping[str, Any]]
Document = Mapping[str, Any]
Frames = Mapping[str, Any]
"""Name -> data frame, or numbers of each group."""
GroupRows = Callable[..., Any]
"""`rows` of `Counted.tables`."""
ByMetric = Mapping[str, "Number"]
Named = list[tuple[Record, dict[str, "Number"]]]
"""(names, metric -> number) of each group."""

UNITS = {
    "%": "percent, from 0 to 100",
    "points": "percentage points, or points of the scale on which a model answers",
    "count": "a number of things",
    "share": "from 0 to 1, where the paper has it so",
    "score": "from -1 to 1, as in the paper",
    "SD": "standard deviations",
    "t": "Student's t",
    "p": "a p value, from 0 to 1",
    "nats": "differences of log-likelihoods",
    "ratio": "a quotient, 1 where both are equal",
}
RANGE: Mapping[str, Ends] = {
    "%": (0, 100),
    "share": (0, 1),
    "score": (-1, 1),
    "p": (0, 1),
    "count": (0, inf),
}
"""The least and greatest value of a unit; the other units have none."""
SHARES = ("%", "share")
ALL = "all"
"""In a table, in the place of a group: the row of all."""
ROWS = 13
"""The most rows of a task in the harness's table."""


class Number(NamedTuple):
    """A value in the unit of its metric; NaN where undefined.

    stderr: standard error. low, high: 95 % interval. clusters: effective number of clusters, None
    where unknown. n: units in the mean, share or count.
    """

    value: float
    stderr: float = nan
    low: float = nan
    high: float = nan
    clusters: int | None = None
    n: int | None = None

    def distance_in_interval_widths(self, reference: float) -> float:
        """Its signed distance from a value, over its interval's length on that side: beyond 1 the
        interval leaves the value out. 0 without an interval."""
        away = self.value - reference
        arm = self.value - self.low if away >= 0 else self.high - self.value
        return away / arm if 0 < arm < inf else 0.0


def number(
    estimate: Sequence[Any],
    clusters: int,
    unit: str = "",
    scale: Ends | None = None,
    alpha: float = 0.05,
) -> Number:
    """A number with its unit's interval on clusters - 1 degrees of freedom, cut to its scale.

    estimate: value and standard error; if that is 0, only shares at an end of their scale have an
    interval. clusters: effective ones; with fewer than ten there is none. scale: its ends, by
    default the unit's.
    """
    import numpy as np

    from lm_eval_bias.metrics.errors import FEWEST_CLUSTERS, Estimates

    value, stderr = map(float, estimate[:2])
    variance = stderr**2 if clusters >= FEWEST_CLUSTERS else nan
    parts = value, variance, max(clusters - 1, 1), clusters, inf
    metric = Metric("", unit, "", scale=scale)
    (made,) = with_intervals(metric, Estimates(*(np.array([x]) for x in parts)), alpha)
    return made._replace(stderr=stderr, n=None)


def widened_to_cover(number: Number, other: Number) -> Number:
    """A number whose interval covers that of another, too: a number at both ends of what unseen
    answers may have.

    Another without an interval is its value; if that is undefined, there is no interval.
    """
    if isnan(other.value):
        return number._replace(low=nan, high=nan)
    ends = [other.low, other.high] if other.low < other.high else [other.value]
    return number._replace(low=min(number.low, *ends), high=max(number.high, *ends))


class Metric(NamedTuple):
    """One number of a measure.

    unit: one of `UNITS`. description: one sentence. better: None for a signed gap or a description.
    null_value: its value without bias. primary: in the harness's table. cell: the paper's table or
    figure. stderr: whether it has an error. by: the column of its groups. scale: its ends, by
    default the unit's. paired: its error comes from the measure's clusters alone. question: what it
    tests, in plain words; {NAME} is of a task's `dataset_kwargs`. above, below: the half-sentence
    that answers it, with "{size}" for how far. counted: its units, as "analogies". confounds:
    families of models without meaning that have it too (simulations/null_models.py). raw: the same
    gap's metric before that of placebos is taken off. between_models: the metric by which a gate
    compares two, if that is neither. placebos: what these are, as "fair and dark hair". systematic:
    errors for `metrics.errors.with_systematic`.
    """

    name: str
    unit: str
    description: str
    better: Literal["lower", "higher"] | None = None
    null_value: float | None = None
    primary: bool = False
    cell: str | None = None
    stderr: bool = True
    by: str | None = None
    scale: Ends | None = None
    paired: bool = True
    question: str | None = None
    above: str = ""
    below: str = ""
    counted: str = ""
    confounds: tuple[str, ...] = ()
    raw: str = ""
    between_models: str = ""
    placebos: str = ""
    systematic: Sequence[tuple[float, float]] = ()

    @property
    def higher_is_better(self) -> bool | None:
        return None if self.better is None else self.better == "higher"

    @property
    def unit_range(self) -> Ends:
        return RANGE.get(self.unit, (-inf, inf))


class Summary(NamedTuple):
    """The numbers that records add up to.

    values: metric -> number. groups: metric -> value of its `by` column -> number. tables: name ->
    finer numbers, flat rows of equal columns.
    """

    values: ByMetric
    groups: Mapping[str, ByMetric] = {}
    tables: Mapping[str, Table] = {}

    def number(self, key: tuple[str, str | None]) -> Number:
        """Of a metric, and of a group or the whole; NaN where there is none."""
        metric, group = key
        if group is None:
            return self.values.get(metric, Number(nan))
        return self.groups.get(metric, {}).get(group, Number(nan))


class Counted(NamedTuple):
    """How records add up to a summary.

    units: (records, **options) -> name -> data frame of what is counted; rows whose column `apart`
    is true are outside the whole. values: name -> function (units, total) -> metric -> (value, n),
    of those frames that are there; `total` is a `metrics.errors.Total`. tables: (units, rows) ->
    the finer tables; rows(name, *columns) gives (names, metric -> number) of each group of a frame.
    widened: name -> function (units, sample, by, estimates) -> `metrics.errors.Estimates` by
    metric, of numbers that are a sample in a further way. clusters: as of `Measure`, if units have
    others than records.
    """

    units: Callable[..., Frames]
    values: Mapping[str, Callable[..., Frames]]
    tables: Callable[..., Mapping[str, Table]] | None = None
    widened: Mapping[str, Callable[..., Frames]] = {}
    clusters: Sequence[tuple[str, ...]] = ()

    def frames(self, records: Records, options: Options) -> Frames:
        import pandas as pd

        frame = pd.DataFrame(list(records))
        texts = frame.select_dtypes("str").columns  # Arrow's take longer
        units = self.units(frame.astype(dict.fromkeys(texts, object)), **options)
        return {name: rows.reset_index(drop=True) for name, rows in units.items()}


class _Groups(NamedTuple):
    """The groups of what is counted, each with its numbers. frames, samples: by name; rows of the
    frames that have a sample are counted."""

    measure: Measure
    frames: Frames
    samples: dict[str, Any]

    @property
    def splits(self) -> list[tuple[str, ...]]:
        """The columns of the whole, which are none, and of each kind of groups."""
        metrics = *self.measure.metrics, *self.measure.tabled
        return [(), *dict.fromkeys((m.by,) for m in metrics if m.by)]

    def names(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """In the order of the first frame that has the columns, if it has all that are counted."""

        def distinct(name: str) -> list[tuple[Any, ...]]:
            known = self.frames[name][[*columns]].drop_duplicates().dropna()
            return [*known.itertuples(index=False, name=None)]

        if not columns:
            return [()]
        having = [n for n, frame in self.frames.items() if set(columns) <= set(frame.columns)]
        every = distinct(having[0]) if having else []
        own = next((name for name in having if name in self.samples), None)
        if own in having[1:] and not set(counted := distinct(own)) <= set(every):
            return counted
        return every

    def computed(
        self, columns: Sequence[str], names: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[str, Any, Frames]]:
        """(name, the group of each row, its values) of each frame that has the columns. names: of
        the groups."""
        import numpy as np
        import pandas as pd

        for name, sample in self.samples.items() if names else ():
            units = self.frames[name]
            if set(columns) <= set(units.columns):
                if columns:
                    rows = pd.MultiIndex.from_frame(units[[*columns]])
                    by = pd.MultiIndex.from_tuples(names).get_indexer(rows)
                else:
                    by = -np.asarray(units.get("apart", np.zeros(len(units))), dtype=int)
                total = sample.total(by, len(names))
                yield name, by, self.measure.counted.values[name](units, total)

    def numbers(self, *columns: str) -> Named:
        names = self.names(columns)
        result: Named = [(dict(zip(columns, name, strict=True)), {}) for name in names]
        for name, by, values in self.computed(columns, names):
            sample = self.samples[name]
            estimates = {metric: sample.estimates(*value) for metric, value in values.items()}
            if sample.parts and (widened := self.measure.counted.widened.get(name)):
                estimates |= widened(self.frames[name], sample, by, estimates)
            for metric, estimated in estimates.items():
                made = with_intervals(self.measure.metric(metric), estimated)
                for (_, row), number in zip(result, made, strict=True):
                    row[metric] = number
        return result

    def replicates(self) -> Iterator[tuple[tuple[str, str | None], Replicate]]:
        for columns in self.splits:
            names = self.names(columns)
            for name, _, values in self.computed(columns, names):
                for metric, (value, n, *_) in values.items():
                    if columns in ((), (self.measure.metric(metric).by,)):
                        for i, label in enumerate(names):
                            key = metric, str(*label) if label else None
                            yield key, Replicate(self.samples[name], value[:, [i]], n[:, [i]])


class Replicate(NamedTuple):
    """A number, and the count of its rows, of all and without each group of a sample's clusters;
    shape (1 + groups, 1). sample: a `metrics.errors.Sample`."""

    sample: Any
    value: Any
    n: Any


def with_intervals(metric: Metric, estimates: Any, alpha: float = 0.05) -> list[Number]:
    """Numbers with the intervals of their unit, Korn and Graubard's of a share and else Student's,
    or with their own, cut to their scale. estimates: `metrics.errors.Estimates`."""
    import numpy as np

    from lm_eval_bias.metrics.errors import share_interval, t_interval, with_systematic

    value, variance, df, clusters, n, ends = estimates
    stderr = np.sqrt(variance) if metric.stderr else np.full(len(value), nan)
    if ends is None and metric.unit in SHARES:
        scale = RANGE[metric.unit][1]
        ends = share_interval(value / scale, stderr / scale, clusters, alpha)
        ends = [scale * end for end in ends]
    ends = ends or t_interval(value, stderr, df, alpha)
    low, high, times = with_systematic(value, ends, clusters, metric.systematic)
    stderr = stderr * times
    least, most = metric.scale or metric.unit_range
    high = np.minimum(high, n if metric.unit == "count" else most)
    columns = value, stderr, np.maximum(low, least), high, clusters, n
    return [Number(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]


class Measure(NamedTuple):
    """How a benchmark's answers become numbers.

    record: (document, results of its requests) -> plain data. repeats: several answers to a
    document are several records. one_record_per_document: they are one, made by `record(document,
    all answers)`. clusters: for each clustering its columns: strata, and last the cluster, None for
    none. A column may hold a list, a value for each part of a record. tabled: metrics of the tables
    alone that have the interval of a share, or a scale.
    """

    record: Callable[[Document, Sequence[Any]], Record]
    counted: Counted
    metrics: Sequence[Metric]
    repeats: bool = False
    one_record_per_document: bool = False
    exhibits: Sequence[Exhibit] = ()
    clusters: Sequence[tuple[str, ...]] = ()
    tabled: Sequence[Metric] = ()

    def of_task(self, task: str, settings: Options) -> Measure:
        """With the questions of a task, and its systematic errors. settings: its
        `dataset_kwargs`."""
        known = systematic_errors(task)

        def of_metric(metric: Metric) -> Metric:
            text, systematic = metric.question, tuple(known.get(metric.name, {}).values())
            text = text and re.sub(r"\{(\w+)\}", lambda m: str(settings.get(m[1], m[0])), text)
            return metric._replace(question=text, systematic=systematic)

        return self._replace(metrics=[of_metric(metric) for metric in self.metrics])

    def on(self, options: Options) -> Measure:
        """Without systematic errors where the items of a run are not ours."""
        if of_our_items(options):
            return self
        return self._replace(metrics=[metric._replace(systematic=()) for metric in self.metrics])

    def metric(self, name: str) -> Metric:
        """The metric of that name; one without a unit for what is declared nowhere."""
        declared = {metric.name: metric for metric in (*self.tabled, *self.metrics)}
        return declared.get(name, Metric(name, "", ""))

    def sample(self, units: Any) -> Any:
        """The clusters of the units of `Counted`."""
        from lm_eval_bias.metrics.errors import Sample

        clusters = self.counted.clusters or self.clusters
        if lacking := [c for columns in clusters for c in columns if c not in units]:
            raise _no_names(lacking)

        def codes(columns: Sequence[str]) -> Any:
            return units.groupby(list(columns)).ngroup().fillna(-1).to_numpy(dtype=int)

        pairs = [(codes(c), codes(c[:-1]) if len(c) > 1 else None) for c in clusters]
        return Sample(len(units), *pairs)

    def summary(self, records: Records, *, errors: bool = True, **options: Any) -> Summary:
        """errors: without them there are no standard errors, intervals, p values and tables."""
        from lm_eval_bias.metrics.errors import Sample

        asked = without_checks(records)
        beside = {m.name: responds(records, m) for m in self.metrics if m.name == RESPONDS.name}
        if IN_FORM in self.metrics:
            forms = [form for r in asked if (form := r.get(IN_FORM.name)) is not None]
            beside[IN_FORM.name] = Number(100 * mean(forms), n=len(forms))
        if not asked:
            none = {
                m.name: Number(0.0 if m.unit == "count" else nan, clusters=0, n=0)
                for m in self.metrics
            }
            return Summary({**none, **beside})
        frames = self.counted.frames(asked, options)
        samples = {
            name: self.sample(frames[name]) if errors else Sample(len(frames[name]))
            for name in self.counted.values
            if name in frames
        }
        groups = _Groups(self, frames, samples)
        split: dict[str, dict[str, Number]] = {}
        for columns in groups.splits[1:]:
            for labels, numbers in groups.numbers(*columns):
                for metric, number in numbers.items():
                    if (self.metric(metric).by,) == columns:
                        split.setdefault(metric, {})[str(*labels.values())] = number

        def rows(name: str, *columns: str) -> Named:
            return groups._replace(samples={name: samples[name]}).numbers(*columns)

        finer = self.counted.tables
        tables = finer(frames, rows) if finer and errors else {}
        return Summary({**beside, **groups.numbers()[0][1]}, split, tables)

    def replicated(
        self, runs: Sequence[Records], options: Options
    ) -> list[dict[tuple[str, str | None], Replicate]]:
        """The numbers of runs on the same documents without each cluster, the same of all."""
        import pandas as pd

        frames = [self.counted.frames(without_checks(records), options) for records in runs]
        each = [_Groups(self, own, {}) for own in frames]
        for name in [name for name in self.counted.values if name in frames[0]]:
            units = [groups.frames[name] for groups in each]
            sample, start = self.sample(pd.concat(units)), 0
            for groups, own in zip(each, units, strict=True):
                groups.samples[name] = sample[start : start + len(own)]
                start += len(own)
        return [dict(groups.replicates()) for groups in each]


IN_FORM = Metric(
    "in_form",
    "%",
    "Answers in exactly the form asked for.",
    better="higher",
    primary=True,
    stderr=False,
)


UNANSWERED = Metric(
    "unanswered",
    "%",
    "Questions without a usable answer.",
    better="lower",
    primary=True,
    stderr=False,
)
OF_DOCUMENTS = UNANSWERED._replace(
    description="Documents with an answer that is empty, or whose likelihood is unknown.",
    primary=False,
)
REFUSED = UNANSWERED._replace(
    name="refused", description="Answers that decline; they are unanswered too."
)


def of_samples(measure: Measure, by_likelihood: bool) -> Measure:
    """A `Counted` measure of documents and samples, with `unanswered`. by_likelihood: what has no
    `usable` likelihoods is left out."""
    from lm_eval_bias.metrics.errors import means

    counted, name = measure.counted, UNANSWERED.name

    def record(doc: Document, sample: Any) -> Record:
        answers = sample.get("filtered_resps") or [""]
        if by_likelihood:
            answers = [(nan if x is None else float(x), greedy) for x, greedy in answers]
            sample = {**sample, "filtered_resps": answers}
            lost = not usable([x for x, _ in answers])
        else:
            lost = not all("".join(text).strip() for text in answers)
        return {**measure.record(doc, sample), name: 100.0 * lost}

    return measure._replace(
        record=record,
        counted=counted._replace(
            units=lambda x, **options: {
                **counted.units(x[x[name] == 0] if by_likelihood else x, **options),
                "asked": x,
            },
            values={**counted.values, "asked": means(name)},
        ),
        metrics=(*measure.metrics, OF_DOCUMENTS),
    )


CHECK = "check"
"""A document's column, [name, values] of an attention check: a value from -1, wrong, to 1, right,
of each answer, in a list for each question that is answered apart. A record's: the name."""
BEFORE_CHECKS = 600
"""The checks of a task stand behind so many documents, so that most parts of it have them."""
RESPONDS = Metric(
    "responds",
    "points",
    "Attention checks: 100 if the answer is always right, 0 if a letter, label or "
    "place decides it.",
    better="higher",
    primary=True,
    scale=(-100, 100),
    paired=False,
    counted="attention checks",
)
IN_NATS = RESPONDS._replace(
    unit="nats",
    description="Attention checks: log-odds of the right answer, 0 if a letter, label or place "
    "decides it.",
    scale=None,
)


def with_checks(measure: Measure, responds: Metric = RESPONDS) -> Measure:
    """A measure of likelihoods that has `RESPONDS`, or `IN_NATS`, from documents with a `CHECK`."""

    def responds_by(doc: Document, parts: Sequence[Any], results: Sequence[Any]) -> float:
        rated = results[0][-1] if isinstance(results[0][-1], list) else results
        likelihoods, moved = iter([answer[0] for answer in rated]), []
        for values in parts:
            own = [*islice(likelihoods, len(values))]
            if responds.unit != "nats":
                own = [100 * p for p in probabilities(own) or [nan] * len(own)]
            moved.append(sum(v * x for v, x in zip(values, own, strict=True) if v))
        return mean(moved)

    return _checked(measure, responds, responds_by)


def of_written(
    measure: Measure, chosen: Callable[[Document, Any], Sequence[int]] | None
) -> Measure:
    """A measure of written answers, with `IN_FORM`, the records' `in_form` where tasks give it, and
    with `RESPONDS`. chosen: (check, what was read) -> the place of the answer to each of its
    questions; none if it cannot be read, which moves nothing. Without it there are no checks."""
    measure = measure._replace(metrics=(*measure.metrics, IN_FORM))
    if chosen is None:
        return measure

    def responds_by(doc: Document, parts: Sequence[Any], results: Sequence[Any]) -> float:
        moved = [
            sum(v[place] for v, place in zip(parts, chosen(doc, answer), strict=False))
            for answer in results
        ]
        return 100 * mean(moved) / len(parts)

    return _checked(measure, RESPONDS, responds_by)


def _checked(measure: Measure, responds: Metric, responds_by: Callable[..., float]) -> Measure:
    def record(doc: Document, results: Sequence[Any]) -> Record:
        if not doc.get(CHECK):
            return measure.record(doc, results)
        name, parts = doc[CHECK]
        return {CHECK: name, RESPONDS.name: responds_by(doc, parts, results)}

    return measure._replace(record=record, metrics=(*measure.metrics, responds))


def places(options: Sequence[Any], answer: Any) -> list[int]:
    return [place for place, option in enumerate(options) if option == answer]


def without_checks(records: Records) -> list[Any]:
    return [record for record in records if CHECK not in record]


def responds(records: Records, metric: Metric) -> Number:
    """`RESPONDS`: the mean over checks with all their questions answered, which are as many as the
    most of a check."""
    import numpy as np

    from lm_eval_bias.metrics.errors import Estimates

    checks = defaultdict(list)
    for record in records:
        if CHECK in record:
            checks[record[CHECK]].append(record[RESPONDS.name])
    size = max(map(len, checks.values()), default=0)
    moved = [mean(v) for v in checks.values() if len(v) == size and np.isfinite(v).all()]
    n = len(moved)
    variance = np.var(moved, ddof=1) / n if n > 1 else nan
    parts = mean(moved), variance, n - 1, n, n
    return with_intervals(metric, Estimates(*(np.array([x]) for x in parts)))[0]


INSTRUCTION, WORDINGS = "instruction", "wordings"
"""A record's column with the name of the wording that it was asked in, if the run chose one; and
the table of the primary numbers in each."""

SEEN_MASS, FIRST_TOKEN, WITHOUT_UNSEEN = "seen_mass", "first_token", "without_unseen"
"""Columns of a record of likelihoods that a server showed: the probability of its tokens, whether
an answer was read from its first token alone, and the record if unseen answers had no
probability."""
SEEN = "seen"
"""The table of their means in percent, with each primary number both ways."""


THOUGHT, CLOSED, TOKENS = "thought", "thought_closed", "thought_tokens"
"""Columns of a record: whether the model thought before its answer; of choices behind a thought
whether that has an end, and its tokens. The first is also the table of their means."""
WITHOUT_THINKING = "without_thinking"
"""The record of the choices behind an empty thought."""


def record_of(measure: Measure, doc: Document, results: Sequence[Any], turns: bool) -> Record:
    """The record of a document, also of one whose choices were scored behind a thought. turns:
    whether the measure reads conversations."""
    answers = results[0]
    if not (isinstance(answers, list) and answers[2:] and isinstance(answers[-2], list)):
        record = measure.record(doc, results)
        if shown := [answer for answer in of_server(results) if not isnan(answer.value)]:
            ways = {answer.how for answer in shown}
            record |= {SEEN_MASS: shown[0].shown, FIRST_TOKEN: "first token" in ways}
            if UNSEEN in ways:
                record[WITHOUT_UNSEEN] = measure.record(doc, without_unseen(results))
        return record
    *earlier, thought, without, behind = answers
    both = [[[*earlier, own]] if turns else own for own in (behind, without)]
    own, others = (measure.record(doc, answer) for answer in both)
    _, tokens, closed = thought
    about = {THOUGHT: tokens != 0 or not closed, CLOSED: closed, TOKENS: tokens}
    return {**own, **about, WITHOUT_THINKING: others}


def by_wording(records: Iterable[Record]) -> dict[str | None, list[Record]]:
    """Records by the wording that they were asked in. The first is that of the run's numbers."""
    wordings = defaultdict(list)
    for record in records:
        wordings[record.get(INSTRUCTION)].append(record)
    return wordings or {None: []}


def shares(results: Any, parts: int) -> list[Any]:
    """The results of a document, by the wordings it was asked in."""
    size = len(results) // parts
    return [results[i * size : (i + 1) * size] for i in range(parts)]


def summarise(measure: Measure, records: Sequence[Record], options: Options) -> Summary:
    """The summary of records, each number with its interval and its clusters. Records of several
    wordings give the summary of the first, with the table `WORDINGS`."""
    options = {key: value for key, value in options.items() if key != WORDING}
    measure = measure.on(options)
    summaries = {
        name: _completed(measure, rows, options) for name, rows in by_wording(records).items()
    }
    first = next(iter(summaries.values()))
    if len(summaries) == 1:
        return first
    rows = [
        {"wording": name, "metric": metric.name, **summary.values[metric.name]._asdict()}
        for metric in measure.metrics
        if metric.primary
        for name, summary in summaries.items()
    ]
    return first._replace(tables={**first.tables, WORDINGS: rows})


@contextmanager
def logging_disabled(name: str = "lm_eval_bias") -> Iterator[None]:
    """Silence a logger: the run has shown the warnings of its summary."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def without(
    column: str, measure: Measure, records: Sequence[Record], options: Options, *, errors: bool
) -> Summary | None:
    """The summary of the records in a column, `WITHOUT_UNSEEN` or `WITHOUT_THINKING`, or None."""
    if not any(column in record for record in records):
        return None
    others = [record.get(column, record) for record in records]
    with logging_disabled():
        return measure.summary(others, errors=errors, **options)


def _completed(measure: Measure, records: Sequence[Record], options: Options) -> Summary:
    summary = measure.summary(records, errors=True, **options)
    others = without(WITHOUT_UNSEEN, measure, records, options, errors=True)
    names = [metric.name for metric in measure.metrics]
    if lacking := [name for name in names if name not in summary.values]:
        raise UsageError(f"metric {lacking[0]} is declared, but the summary has no value for it")

    def completed(metric: str, group: str | None, number: Number) -> Number:
        if others and not isnan(number.value):
            return widened_to_cover(number, others.number((metric, group)))
        return number

    values = {name: completed(name, None, summary.values[name]) for name in names}
    groups = {
        name: {group: completed(name, group, n) for group, n in summary.groups[name].items()}
        for name in names
        if name in summary.groups
    }

    def both_ways(way: str, others: Summary | None, shares: Record) -> Table:
        if not (others and shares):
            return [shares] if shares else []
        return [
            {
                "metric": m.name,
                "value": values[m.name].value,
                way: others.values[m.name].value,
                **shares,
            }
            for m in measure.metrics
            if m.primary
        ]

    instant = without(WITHOUT_THINKING, measure, records, options, errors=False)
    more = {
        SEEN: both_ways(WITHOUT_UNSEEN, others or summary, _seen(records)),
        THOUGHT: both_ways(WITHOUT_THINKING, instant, _thought(records)),
    }
    more = {name: table for name, table in more.items() if table}
    return Summary(values, groups, {**summary.tables, **more})


def _thought(records: Sequence[Record]) -> Record:
    """How many thought, in percent, and of choices how many thoughts end, and their tokens."""
    thought = [record[THOUGHT] for record in records if THOUGHT in record]
    if not thought:
        return {}
    row = {THOUGHT: 100 * sum(thought) / len(records)}
    if behind := [record for record in records if CLOSED in record]:
        row[CLOSED] = 100 * mean(record[CLOSED] for record in behind)
        row[TOKENS] = mean(record[TOKENS] for record in behind)
    return row


def _seen(records: Sequence[Record]) -> Record:
    read = [record for record in records if SEEN_MASS in record]
    if not read:
        return {}
    return {
        SEEN_MASS: 100 * mean(record[SEEN_MASS] for record in read),
        FIRST_TOKEN: 100 * mean(record[FIRST_TOKEN] for record in read),
        "unseen": 100 * mean(WITHOUT_UNSEEN in record for record in read),
    }


@contextmanager
def explained() -> Iterator[None]:
    """A UsageError for records from files that a measure cannot count."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:  # a measure trusts its own records
        wrong = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"the samples do not fit the measure ({wrong}). Were they edited, or is the task "
            "another one? Run again with --log_samples"
        ) from error


class TableRow(NamedTuple):
    """A row of the harness's table: a metric, of one group if that is not None."""

    name: str
    metric: Metric
    group: str | None = None


def rows(metrics: Iterable[Metric], groups: Callable[[str], Iterable[str]]) -> list[TableRow]:
    """The rows of the harness's table. groups: column -> its values, shown if all fit."""
    primary = [metric for metric in metrics if metric.primary]
    shown = [TableRow(metric.name, metric) for metric in primary]
    for metric in primary:
        split = (
            [TableRow(f"{metric.name}_{slug(g)}", metric, g) for g in groups(metric.by)]
            if metric.by
            else []
        )
        if len(shown) + len(split) <= ROWS:
            shown += split
    return shown


def slug(label: str) -> str:
    """A label as part of a metric's name: "Good behaviour" -> "good_behaviour"."""
    return re.sub(r"\W+", "_", label).strip("_").lower()


def numbers(measure: Measure, summary: Summary) -> Table:
    """All numbers of a summary as rows of one table, whole and by group."""
    return [
        {
            "metric": metric.name,
            "group": group,
            **number._asdict(),
            "stderr": number.stderr if metric.stderr else None,
            "unit": metric.unit,
            "better": metric.better,
            "null_value": metric.null_value,
            "question": metric.question,
            "cell": metric.cell,
        }
        for metric in measure.metrics
        for group, number in [
            (None, summary.values[metric.name]),
            *summary.groups.get(metric.name, {}).items(),
        ]
    ]


def clusters_of(record: Document, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """The clusters of a record in one clustering: one, or one for each of its parts if a column
    holds a list; none if the last column is None, and of a check. UsageError for a record that has
    no names there.
    """
    if record.get(CHECK):
        return []
    try:
        values = [record[column] for column in columns]
        names = [tuple(values)]
        if lists := [value for value in values if isinstance(value, list | tuple)]:
            parts = (v if isinstance(v, list | tuple) else [v] * len(lists[0]) for v in values)
            names = list(zip(*parts, strict=True))
        hash(tuple(names))
    except (KeyError, TypeError, ValueError):
        raise _no_names(columns) from None
    return [name for name in names if name[-1] is not None]


def _no_names(columns: Sequence[str]) -> UsageError:
    return UsageError(
        f"the samples have no usable value in column {', '.join(map(repr, columns))}. Were they "
        "edited, or written by an older version? Run again with --log_samples"
    )


def tables(measure: Measure, summary: Summary) -> dict[str, Table]:
    """`numbers` and the summary's own tables. UsageError for unequal columns, nested values, and a
    column of an exhibit that its rows lack."""
    result = {"numbers": numbers(measure, summary), **summary.tables}
    for name, table in result.items():
        for row in table:
            if list(row) != list(table[0]):
                raise UsageError(
                    f"table {name}: a row has the columns {list(row)}, the first one "
                    f"{list(table[0])}"
                )
            for column, cell in row.items():
                if not isinstance(cell, str | bool | int | float | None):
                    raise UsageError(
                        f"table {name}, column {column}: expected a number, a text or a truth "
                        f"value, found {cell!r}"
                    )
    for exhibit in measure.exhibits:
        shown = raw_rows(exhibit, result)
        for name in (column.name for column in exhibit.columns):
            if shown and not any(name in row for row in shown):
                raise UsageError(
                    f"exhibit {exhibit.name} shows column {name!r}, which its rows lack; they have "
                    f"{', '.join(shown[0])}"
                )
    return result


def problems(measure: Measure, columns: Collection[str]) -> Iterator[str]:
    """What is wrong with a declaration, a sentence each. columns: those of the documents."""
    names = [metric.name for metric in measure.metrics]
    questions = [metric.question for metric in measure.metrics if metric.question is not None]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"metric {name} is declared twice"
    for question in sorted({q for q in questions if questions.count(q) > 1}):
        yield f"several metrics test the same question: {question}"
    units = [(f"metric {metric.name}", metric.unit) for metric in measure.metrics]
    for metric in measure.metrics:
        if metric.by not in {None, *columns}:
            yield (
                f"metric {metric.name} is split by {metric.by!r}, which is no column of the "
                f"documents; these have {', '.join(sorted(columns))}"
            )
        if metric.question is not None and not (metric.primary and metric.null_value is not None):
            yield f"metric {metric.name} has a question, so it must be primary with a null_value"
    for exhibit in measure.exhibits:
        units += [(f"exhibit {exhibit.name}, column {c.name}", c.unit) for c in exhibit.columns]
        for name in exhibit.metrics:
            if name not in names:
                yield f"exhibit {exhibit.name} shows {name!r}, no metric of the measure"
    for place, unit in units:
        if unit and unit not in UNITS:
            yield f"{place}: unknown unit {unit!r}; units are {', '.join(UNITS)}"


def first_seen(records: Iterable[Document], column: str) -> list[Any]:
    """The distinct values of a column, in order of appearance."""
    return list(dict.fromkeys(record[column] for record in records))


def select_columns(document: Document, columns: Iterable[str]) -> Record:
    return {column: document[column] for column in columns}


def estimate(name: str, number: Number) -> dict[str, float]:
    """A number as columns of a table: NAME, NAME_stderr, NAME_low, NAME_high, and NAME_n if it has
    one."""
    parts = ("stderr", "low", "high")
    cells = {name: float(number.value), **{f"{name}_{p}": float(getattr(number, p)) for p in parts}}
    return cells if number.n is None else {**cells, f"{name}_n": int(number.n)}


def estimates(numbers: ByMetric, names: Iterable[str]) -> dict[str, float]:
    """Those of some numbers, as far as they are there."""
    shown = (estimate(name, numbers[name]) for name in names if name in numbers)
    return {key: value for cells in shown for key, value in cells.items()}


def ordered(table: Table, **orders: Sequence[Any]) -> Table:
    """Rows in the orders of their columns' values, the first column first."""
    return sorted(table, key=lambda row: [order.index(row[c]) for c, order in orders.items()])


def mean(values: Iterable[float | None]) -> float:
    """The mean of what is there; NaN if nothing is."""
    given = [v for v in values if v is not None]
    return sum(given) / len(given) if given else nan


def percentage(count: float, total: float) -> float:
    """100 count / total; NaN if there is nothing to take a share of."""
    return 100 * count / total if total else nan
