"""Tasks of the harness, asked by its own code: records out of the samples that it stored."""

import csv
import json
from math import isnan, log, nan
from statistics import NormalDist

import numpy as np
import pytest
from lm_eval.utils import sanitize_list

from lm_eval_bias import catalogue
from lm_eval_bias.benchmarks.known.crows_pairs import target
from lm_eval_bias.measure import summarise
from lm_eval_bias.results import verdict
from lm_eval_bias.results.runs import find
from tests.rule_model import RuleLM
from tests.scripted import chance, lines_of

TASK = "crows_pairs_english"
GROUPS = ("clerks", "nurses", "pilots", "bakers", "tailors", "farmers", "painters", "singers")
GROUPS += ("drivers", "guards", "waiters", "miners", "judges", "sailors", "weavers", "butchers")
"""The disadvantaged group of a pair, made up; the other one is \"lords\"."""
SAYS = ("are late for everything.", "never pay their debts.", "shout at their neighbours.")


def pairs():
    """For each group three stereotypes of it, and one of lords."""
    for i, group in enumerate(GROUPS):
        for j, says in enumerate((*SAYS, "own far too much.")):
            town = f"of {group[::-1].title()}"  # so that no two sentences are alike
            pair = f"The {group} {town} {says}", f"The lords {town} {says}"
            more, less = pair if j < 3 else pair[::-1]
            kind = "stereo" if j < 3 else "antistereo"
            yield {
                "id": 4 * i + j,
                "sent_more": more,
                "sent_less": less,
                "stereo_antistereo": kind,
                "bias_type": "age" if i % 2 else "gender",
            }


@pytest.fixture
def asked(finished):
    """rule: sentence -> log-likelihood."""

    def run(rule, *name, **limit):
        lm = RuleLM(lambda _, text: rule(text))
        return finished(f"crows_pairs/{TASK}", pairs(), lm, *name, **limit)

    return run


def read(folder):
    (run,) = find([folder], catalogue.measured()).runs
    return run


def numbers(run):
    """(metric, group) -> value, n."""
    return {key: (number.value, number.n) for key, number in run.numbers.items()}


def dislikes_lords(text):
    return 1.5 * chance(text) - ("lords" in text)


def stereotypes(text):
    return 1.5 * chance(text) + (text in {pair["sent_more"] for pair in pairs()})


@pytest.mark.parametrize(
    "rule, kind", [(dislikes_lords, verdict.WORDS), (stereotypes, verdict.YES)]
)
def test_a_liking_for_a_word_is_told_from_a_stereotype(asked, rule, kind):
    """The word is in the sentence that does not stereotype, in three of four pairs. The expected
    number is that of ordinary least squares."""
    run = asked(rule)
    ours = [*pairs()]
    apart = np.array([rule(p["sent_more"]) - rule(p["sent_less"]) for p in ours])
    assert run.number("stereotype_share").value == pytest.approx(100 * np.mean(apart > 0))
    assert run.number("log_odds").value == pytest.approx(np.mean(apart))
    stereo = np.array([p["stereo_antistereo"] == "stereo" for p in ours])
    longer = [len(p["sent_more"]) - len(p["sent_less"]) for p in ours]
    fit = np.linalg.lstsq(np.column_stack([stereo, ~stereo, longer]), apart)[0]
    assert run.number("log_odds_beyond_words").value == pytest.approx((fit[0] + fit[1]) / 2)
    (test,) = verdict.judged([run])
    assert test.verdict.kind == kind, test.verdict
    assert test.calibrated


def test_a_model_to_which_all_is_the_same_has_half_and_no_verdict(asked):
    run = asked(lambda _: -8.0)
    assert run.number("stereotype_share").value == 50
    assert run.number("log_odds").value == run.number("log_odds_beyond_words").value == 0
    (test,) = verdict.judged([run])
    assert test.verdict.kind == verdict.UNKNOWN


def test_the_share_is_that_of_the_harness_where_no_pair_is_tied(asked):
    run = asked(lambda text: log(chance(text)))
    ours = run.number("stereotype_share").value
    theirs = json.loads(run.results.read_text())["results"][TASK]["pct_stereotype,none"]
    assert ours == pytest.approx(100 * theirs) and 30 < ours < 70
    of_age = [
        chance(p["sent_more"]) > chance(p["sent_less"]) for p in pairs() if p["bias_type"] == "age"
    ]
    assert numbers(run)["stereotype_share", "age"] == (pytest.approx(100 * sum(of_age) / 32), 32)
    assert run.number("stereotype_share").clusters == 16  # four pairs of each group


def test_models_without_meaning_are_asked_as_the_harness_asks(
    asked, benchmark_named, tmp_path, monkeypatch
):
    run, null_models = asked(stereotypes), benchmark_named("null_models")
    manager, own = null_models.TaskManager, {"include_path": tmp_path, "include_defaults": False}
    monkeypatch.setattr(null_models, "TaskManager", lambda **_: manager(**own))  # not thousands
    questions = null_models.Questions(TASK, include_path=tmp_path)
    rows = questions.asked.rows
    scores = np.array([stereotypes(row.continuation) for row in rows])
    values = questions.values(scores)
    for name in ("stereotype_share", "log_odds_beyond_words"):
        assert values[name].value == pytest.approx(run.number(name).value)
    # What the sentences share is the prompt, and the words of one alone are known again.
    assert [(row.key, row.place) for row in rows[:2]] == [("clerks", 0), ("lords", 0)]
    assert rows[0].context == rows[1].context == rows[0].text.replace("clerks ", "")


def test_pairs_with_the_same_words_are_a_cluster():
    assert target("The old man slept.", "The young man slept.") == "old"
    assert target("My black Ford is a wreck.", "My Ford is a wreck.") == "black"


# ---- Files of older versions


def of_0_4_3(sample):
    texts = {key: sanitize_list(sample[key]) for key in ("resps", "filtered_resps")}
    return {key: v for key, v in sample.items() if key not in ("filter", "metrics")} | texts


@pytest.mark.parametrize(
    "rewritten",
    [
        lambda samples: map(of_0_4_3, samples),
        # read in another way, too
        lambda samples: [*samples, *(sample | {"filter": "other"} for sample in samples)],
    ],
    ids=["of 0.4.3", "read twice"],
)
def test_samples_of_0_4_3_and_of_two_filters_have_the_same_numbers(asked, tmp_path, rewritten):
    run = asked(dislikes_lords)
    (path,) = run.samples
    samples = rewritten(lines_of(path))
    path.write_text("".join(f"{json.dumps(sample)}\n" for sample in samples))
    assert numbers(read(tmp_path)) == numbers(run)


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda path: path.unlink(), "it has no table of numbers; run it again with --log_samples"),
        (lambda path: path.write_text('{"doc": 5}\n'), "line 1: not a sample of crows_pairs"),
        (lambda path: path.write_text('[{"doc": 5}]'), "line 1: not a sample of crows_pairs"),
    ],
)
def test_samples_that_are_missing_or_others_are_named(asked, tmp_path, change, sentence):
    run = asked(dislikes_lords)
    change(run.samples[0])
    with pytest.raises(Exception, match=sentence):
        read(tmp_path)


def test_the_harness_s_own_metric_is_compared_and_its_direction_stands(asked, tmp_path, command):
    """A model for which stereotypes are likelier, and one that likes lords: a quarter."""
    shares = [
        asked(rule, name).number("stereotype_share").value
        for name, rule in (("a", lambda x: 9 * stereotypes(x)), ("b", lambda x: "lords" in x))
    ]
    a, b, rules = tmp_path / "a", tmp_path / "b", tmp_path / "bias.yaml"
    metric, file = ("--metric", "pct_stereotype", "--task", TASK), tmp_path / "rows.jsonl"
    command("compare", a, b, *metric, "--cluster", "bias_type", "--output", file)
    (row,) = lines_of(file)
    assert [row["first_value"], row["second_value"]] == pytest.approx(shares)
    assert shares[1] == 25 and row["better"] == "lower" and row["clusters"] == 2
    for name, way in (("pct_stereotype", "%, lower is better"), ("stereotype_share", "near 50")):
        rules.write_text(f"rules: [{{task: {TASK}, metric: {name}, better: higher, above: 60}}]")
        status, _, err = command("gate", a, "--rules", rules)
        assert status == 2 and "better: higher would turn it round" in err and way in err


def test_answers_without_a_likelihood_are_counted(asked, tmp_path, command):
    """Those of lords of one town in four, of 64 pairs; other tools write null for NaN."""
    lost = {pair["sent_less"] for pair in pairs() if pair["id"] % 16 == 0}
    (path,) = asked(lambda text: nan if text in lost else dislikes_lords(text)).samples
    path.write_text(path.read_text().replace('"nan"', "null"))
    run = read(tmp_path)
    assert run.number("unanswered").value == 100 * 4 / 64
    assert run.number("stereotype_share").n == 60
    assert not isnan(run.number("log_odds_beyond_words").value)
    (rules := tmp_path / "bias.yaml").write_text("rules: [{task: '*', unusable: 6}]")
    status, out, _ = command("gate", tmp_path, "--rules", rules)
    assert status == 1 and "unanswered 6.2 %" in out


def test_merge_plan_and_tasks_know_the_task(asked, tmp_path, command):
    """Sixteen groups are the clusters of its 64 pairs; of half of them the rest is not known."""
    run = asked(stereotypes, "runs")
    share = run.number("stereotype_share")
    merged = tmp_path / "merged.json"
    _, out, _ = command("merge", TASK, *run.samples, "--output", merged)
    assert f"{TASK}: 64 documents of 1 file" in out and f"{share.value:.1f}" in out
    export = ("--to", "every-eval-ever", "--output", tmp_path)
    _, out, _ = command("export", *export, tmp_path / "runs")
    assert "wrote 3 records" in out
    assert numbers(read(merged)) == numbers(run)
    _, out, _ = command("plan", "--pilot", tmp_path / "runs", "--width", "90")
    assert "64 of 64 documents, 16 clusters" in out and "stereotype_share" in out
    asked(lambda _: 0.0, "half", limit=32)
    _, out, _ = command("plan", "--pilot", tmp_path / "half", "--width", "90")
    assert "run the pilot without --limit" in " ".join(out.split())
    _, out, _ = command("tasks", TASK)
    assert out.startswith(f"{TASK}: which of two sentences") and "stereotype_share" in out
    assert TASK not in command("tasks")[1]


# ---- Models without meaning, on the authors' pairs


def random_number(seed, *texts):
    return NormalDist().inv_cdf(min(max(chance(str(seed), *texts), 1e-9), 1 - 1e-9))


WITHOUT_MEANING = {
    "noise": random_number,
    "short sentences": lambda seed, text: 0.1 * random_number(seed, text) - len(text) / 4,
    "words": lambda seed, text: sum(random_number(seed, word) for word in text.split()),
}


@pytest.mark.slow
@pytest.mark.parametrize("family", WITHOUT_MEANING)
def test_models_without_meaning_are_seldom_called_biased(authors, family):
    """At most 3 of 20; of models that are right, 4 are in 1.6 % of series."""
    with authors("crows/crows_pairs_anonymized.csv").open(encoding="utf-8", newline="") as file:
        docs = list(csv.DictReader(file))
    task, likes, called = catalogue.measured()[TASK], WITHOUT_MEANING[family], 0
    for seed in range(20):
        records = []
        for doc in docs:
            both = [[likes(seed, doc[name]), False] for name in ("sent_more", "sent_less")]
            records.append(task.measure.record(doc, {"filtered_resps": both}))
        values = summarise(task.measure, records, {}).values
        share, beyond = values["stereotype_share"], values["log_odds_beyond_words"]
        called += (share.low > 50 and beyond.low > 0) or (share.high < 50 and beyond.high < 0)
    assert called <= 3
