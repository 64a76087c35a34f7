"""`--metadata shard=2/4`: what a part is, and that merged parts are the whole to the last digit."""

import json
import math
from collections import Counter
from itertools import chain

import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.harness.shards import shard
from lm_eval_bias.measure import clusters_of
from lm_eval_bias.results import merged as merge
from tests.mistakes import refused
from tests.overt_rows import rows
from tests.rule_model import RuleLM, load
from tests.scripted import ask, chance

TASKS = catalogue.by_name()
# Each measure, on few documents; and the columns of which every part has the whole's shares.
FAMILIES = {
    "bistereo_analogy_generate": ({}, "gender"),
    "bistereo_nli_ci": ({}, "domain gender favoured"),
    "bistereo_pairs_ci": ({}, "axis gender"),
    "empathy_religion_likelihood_ci": ({}, "experiencer"),
    "hbb_ci": ({}, "category placebo identity"),
    "hbb_generate_ses": ({"repeats": 2}, "category"),
    "hbb_sg_ses": ({}, "category type"),
    "mist_aat": ({"combinations": 120}, "template"),
    "mist_wabt": ({"samples": 4}, "dimension template"),
    "mist_wabt_likelihood_ci": ({}, "dimension pair"),
    "stereomap_extended": ({"rounds": 2, "style": "all"}, "round style"),
    "stereomap_emotion_likelihood": ({"groups": "fiske"}, "item direction"),
    "stereoset_intrasentence_choice": ({"data": "overt.json"}, "orders"),
}
by_family = pytest.mark.parametrize("name", FAMILIES)


@pytest.fixture
def settings(name, here):
    """The options of a family."""
    (here / "overt.json").write_text(json.dumps(rows("intrasentence")))
    return FAMILIES[name][0]


@by_family
def test_parts_are_the_whole_with_whole_clusters_and_a_fair_share_of_everything(name, settings):
    (task,) = load(name, metadata=settings)["tasks"].values()
    whole, columns = task.eval_docs, task.measure.clusters[0]
    parts = [shard(whole, columns, i, 4) for i in (1, 2, 3, 4)]
    assert sorted(chain(*parts)) == list(range(len(whole))) and parts == list(map(sorted, parts))
    clusters = [{c for i in part for c in clusters_of(whole[i], columns)} for part in parts]
    assert sum(map(len, clusters)) == len(set().union(*clusters))
    asked = [doc for doc in whole if not doc.get("check")]
    parts = [[i for i in part if not whole[i].get("check")] for part in parts]
    for column in FAMILIES[name][1].split():
        shares = Counter(doc[column] for doc in asked)
        for part in parts:
            counts = Counter(whole[i][column] for i in part)
            for value, n in shares.items():
                # a part has eight clusters or more, of unequal sizes
                assert counts[value] / len(part) == pytest.approx(n / len(asked), abs=0.15)


def test_a_limit_leaves_a_fair_sample_of_a_part():
    (task,) = load("empathy_religion", metadata={"shard": "2/4"})["tasks"].values()
    docs = task.eval_docs
    emotions = Counter(doc["emotion"] for doc in docs[: 24 * 100])
    assert len(docs) == 60 * 100 and set(emotions.values()) == {2 * 100}


class Reads(RuleLM):
    """It answers each document in the form that its prompt asks for, by chance."""

    def generate_until(self, requests, **_):
        return [self.answer(r.doc, json.dumps(r.doc)) for r in requests]

    def answer(self, doc, text):
        def one_of(choices, *about):
            return choices[int(len(choices) * chance(text, *about))]

        if "words" in doc:
            return "\n".join(f"({word}, {one_of(doc['groups'], word)})" for word in doc["words"])
        if "scales" in doc:
            lines = [f"{item}: {one_of('12345', item)}" for item in doc["items"]]
            return "\n".join([*lines, f"Keywords: {one_of(['kind', 'lazy'])}, rich, odd"])
        return one_of(doc.get("options") or ["a", "b", "Comedy", "Tragedy", "The answer is 70."])


def samples_of(folder, name, **options):
    lm = Reads(rule=lambda *texts: -0.1 - 3 * chance(*texts))
    results = ask(folder, "m", lm, name, metadata=options)
    (file,) = folder.rglob("samples_*")
    return file, json.loads(results.read_text())["configs"][name]["cells"]


@pytest.mark.slow
@by_family
def test_merged_parts_give_every_number_and_table_of_the_whole(name, settings, tmp_path):
    _, cells = samples_of(tmp_path / "whole", name, **settings)
    files = [samples_of(tmp_path / str(i), name, **settings, shard=f"{i}/3")[0] for i in (3, 1, 2)]
    merged = merge.merged(TASKS[name], files)
    assert json.dumps(cells) == json.dumps(merged["configs"][name]["cells"])  # NaN is NaN
    values = [row["value"] for row in cells["numbers"]]
    assert 2 * sum(map(math.isnan, values)) < len(values)


def test_parts_of_different_cuts_do_not_belong_together_and_a_missing_part_is_named(
    tmp_path, command
):
    name = "mist_wabt"
    files = [
        samples_of(tmp_path / part[0], name, samples=1, shard=part)[0] for part in ("1/2", "2/3")
    ]
    with refused(r"number of parts is 3 in .* and 2 in "):
        merge.merged(TASKS[name], files)
    status, printed, _ = command("merge", name, files[1])
    assert status == 0 and "not all parts: 1/3, 3/3 missing." in printed
    # 90 and 12 attention checks, of which the first part has all
    documents = {"original": 90 + 12, "effective": 90 // 2 + 12}
    assert merge.merged(TASKS[name], files[:1])["n-samples"] == {name: documents}


@pytest.mark.parametrize("value", ["0/4", "5/4", "2/0", "a/b", "1/1000000", 0.5, "1/2/3", "1/25"])
def test_what_is_no_part_of_a_task_is_a_sentence(value):
    with refused(r"^hbb_ci: shard=.* in --metadata: expected "):
        load("hbb_ci", metadata={"shard": value})


def test_metadata_cannot_set_what_the_yaml_fixes():
    """It would be a part of the task under the name of the whole."""
    (task,) = load("bistereo_nli_ci", metadata={"gender": "women"})["tasks"].values()
    assert {doc["gender"] for doc in task.eval_docs} == {"women", "men", None}  # None: of checks
    assert "gender" not in task.config.metadata
