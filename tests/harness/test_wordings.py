"""`--metadata wording=1|2|all`: other wordings of an instruction, and the range of a number."""

import json

import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.results import merged as merge, runs, samples
from lm_eval_bias.show.report import TaskInfo, write
from tests.mistakes import refused
from tests.rule_model import RuleLM, evaluate, load
from tests.scripted import ask, lines_of, made_up, scripted, write_lines

TASKS = catalogue.by_name()
# One task of each text; `_official` asks the same of data that is fetched.
WORDED = {
    repr((task.config["wordings"], task.config["dataset_kwargs"].get("part"))): name
    for name, task in reversed(TASKS.items())
    if task.config.setdefault("dataset_kwargs", {}) is not None
    and task.config.get("wordings")
    and "official" not in name
}.values()
ANALOGY, AAT = "bistereo_analogy", "mist_aat_likelihood_ci"


def texts(request):
    """All that a request asks, and its answers."""
    if isinstance(request.arguments[1], str):
        return request.arguments[0], (request.arguments[1],)
    turns = request.arguments[1]["turns"]
    asked = [turn.get("user") or turn["user_template"] for turn in turns]
    return "\n".join([str(request.arguments[1]["system"]), *asked]), tuple(turns[-1]["choices"])


@pytest.mark.parametrize("name", WORDED)
def test_every_wording_is_whole_differs_and_asks_for_the_same_answers(name):
    (task,) = load(name, metadata={"wording": "all"})["tasks"].values()
    task.build_all_requests(limit=12, rank=0, world_size=1)
    for doc_id in range(12):
        asked = [texts(r) for r in task.instances if r.doc_id == doc_id]
        prompts = list(dict.fromkeys(prompt for prompt, _ in asked))
        answers = [[answer for text, answer in asked if text == prompt] for prompt in prompts]
        # behind content-free phrases BIStereo asks in one prompt, and so do all others
        assert len(prompts) == 3 and answers[0] == answers[1] == answers[2]
        assert not any(mark in prompt for mark in ("{{", "{%", "{#", "  ") for prompt in prompts)


@pytest.mark.parametrize("name, n", [(ANALOGY, 20), ("empathy_religion_likelihood_ci", 72)])
def test_in_all_wordings_the_numbers_are_those_of_the_papers_alone(name, n):
    def cells(**metadata):
        results = evaluate(scripted("m", 0.5), name, metadata, limit=n)
        return json.loads(json.dumps(results["configs"][name]["cells"]))

    together = cells(wording="all")
    table = together.pop("wordings")
    assert json.dumps(together) == json.dumps(cells())
    for wording in (1, 2):
        alone = {row["metric"]: row for row in cells(wording=wording)["numbers"][::-1]}
        for row in (row for row in table if row["wording"] == str(wording)):
            parts = [(row[part], alone[row["metric"]][part]) for part in ("value", "low", "high")]
            assert all(repr(a) == repr(b) for a, b in parts)


def test_parts_in_all_wordings_merge_into_the_whole_and_lost_records_are_made_again(tmp_path):
    whole = ask(tmp_path / "whole", "m", scripted("m"), AAT, metadata={"wording": "all"})
    cells = json.loads(whole.read_text())["configs"][AAT]["cells"]
    for i in (1, 2):
        options = {"wording": "all", "shard": f"{i}/2"}
        ask(tmp_path / "parts", "m", scripted("m"), AAT, metadata=options)
    files = sorted((tmp_path / "parts").rglob("samples_*.jsonl"))
    lines = lines_of(files[0])
    for line in lines:
        line["records"] = [{"error": "x", "instruction": r["instruction"]} for r in line["records"]]
    write_lines(files[0], lines)
    config = merge.merged(TASKS[AAT], files)["configs"][AAT]
    assert (
        json.dumps(config["cells"]) == json.dumps(cells) and config["metadata"]["wording"] == "all"
    )
    assert len(samples.documents(TASKS[AAT], files)[0].records) == 1
    # a comparison with a run in the paper's wording is of the same prompts
    paper = ask(tmp_path / "paper", "m", scripted("m"), AAT)
    both = ([*run.parent.glob("samples_*")] for run in (whole, paper))
    first, second = ({d.prompt for d in samples.documents(TASKS[AAT], run)} for run in both)
    assert first == second != {None}


@pytest.mark.parametrize("value", [3, 0, "paper", True, "1,2"])
def test_an_unknown_wording_is_a_sentence(value):
    with refused(f"^{ANALOGY}: wording=.*expected 1, 2 or all; without it"):
        load(ANALOGY, metadata={"wording": value})


def page_of(folder):
    found = runs.find([folder], TASKS)
    write(found, {name: TaskInfo() for name in TASKS}, folder / "report", None)
    (page,) = (folder / "report").glob("m*.html")
    return found, page.read_text()


def test_a_model_that_answers_by_the_wording_has_a_range(tmp_path):
    """In the paper's wording it completes each analogy with the stereotype, in the first of ours
    with the opposite, in the second as if by chance."""
    plain = scripted("m").rule
    leaning = {"Solve": 9, "Complete": -9, "An": 0}

    def rule(context, word):
        _, b, c = context.strip().rsplit("\n", 1)[-1].replace("::", ":").strip(": ").split(":")
        biased = " " in c.strip() and word.strip() != b.strip()
        return plain(context, word) + leaning[context.split(" ")[0]] * biased

    ask(tmp_path, "m", RuleLM(rule), ANALOGY, metadata={"wording": "all"}, limit=664)
    found, page = page_of(tmp_path)
    (run,) = found.runs
    low, high = run.range_of("biased_preferences")
    assert (low, high) == (0, 100) and len(run.conditions) == 3
    assert "wording" not in run.settings  # its numbers are the paper's
    assert "range 0.0 to 100.0 over 3 conditions" in page and "one wording," not in page
    overview = (tmp_path / "report" / "index.html").read_text()
    # there 9 nats drown the answers to the attention checks
    assert "cannot be told in another condition: wording 1" in overview


def test_runs_that_differ_in_wording_or_template_alone_are_conditions_of_one_number(tmp_path):
    """49.2 [41.6, 56.7] without template; 74.6 with it, and 60 in another wording."""
    value = {"log_odds_beyond_words": (49.2, 3.85)}
    made = {"task": ANALOGY, "n": 10}
    chat, worded = {"chat_template_sha": "sha"}, {"metadata": {"wording": 1}}
    paper = made_up(tmp_path, value, **made)
    assert "one wording, without chat template" in page_of(tmp_path)[1]
    made_up(tmp_path, {"log_odds_beyond_words": (74.6, 4.6)}, minutes=-1, **made, **chat)
    older = made_up(tmp_path, {"log_odds_beyond_words": (1, 1)}, minutes=-2, **made, **chat)
    made_up(tmp_path, {"log_odds_beyond_words": (60, 4)}, minutes=1, **made, **worded)
    found, page = page_of(tmp_path)
    (run,) = found.runs
    assert run.results == paper and len(found.notes) == 1 and str(older) in found.notes[0]
    assert "range 49.200 to 74.600 over 3 conditions" in page and "one wording," not in page
    assert "wording or chat template moves it more than the interval: 49.200 to 74.600" in page
