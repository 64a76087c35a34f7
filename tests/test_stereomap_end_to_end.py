"""All tasks of StereoMap on the small real model, through the command line of its README."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.started import run_lm_eval

pytestmark = pytest.mark.model

PARTS = ("original", "extended", "structure", "emotion", "behavior")
GROUPS = "name,text,cluster,competence,warmth\nNurses,nurses,a,4,5\nBankers,bankers,b,4,2\n"
COMMANDS = {
    "written": [
        "hf-prefix",
        "stereomap",
        "--apply_chat_template",
        "--limit",
        "3",
        "--gen_kwargs",
        "max_gen_toks=16",
        "--batch_size",
        "8",
    ],
    "official": [
        "hf-prefix",
        "stereomap_extended_official",
        "--limit",
        "1",
        "--gen_kwargs",
        "max_gen_toks=8",
    ],
    "likelihood": ["hf", "stereomap_likelihood", "--limit", "4", "--batch_size", "4"],
    "likelihood, shared": ["hf-prefix", "stereomap_likelihood", "--limit", "4"],
    "groups of one's own": [
        "hf-prefix",
        "stereomap_extended,stereomap_structure_likelihood",
        "--metadata",
        "groups=groups.csv",
        "rounds=2",
        "temperature=0",
        "--gen_kwargs",
        "max_gen_toks=16",
    ],
    "mistake": [
        "hf-prefix",
        "stereomap_extended",
        "--limit",
        "1",
        "--metadata",
        "groups=nowhere.csv",
    ],
}


@pytest.fixture(scope="module")
def runs(model_folder, shared, tmp_path_factory):
    """All commands, two at a time: name -> (process, folder of what it wrote)."""
    folder = tmp_path_factory.mktemp("stereomap")
    (folder / "groups.csv").write_text(GROUPS)

    def run(name):
        model, tasks, *rest = COMMANDS[name]
        output = folder / name.replace(" ", "_").replace(",", "")
        command = [
            "--model",
            model,
            "--model_args",
            f"pretrained={model_folder}",
            "--device",
            "cpu",
            "--tasks",
            tasks,
            *rest,
        ]
        settings = {"LM_EVAL_BIAS_DATA": str(shared / "official")}
        return run_lm_eval(
            [*command, "--log_samples", "--output_path", output], cwd=folder, env=settings
        ), output

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(COMMANDS, pool.map(run, COMMANDS), strict=True))


def results(run):
    done, output = run
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(next(output.rglob("results_*.json")).read_text())


def samples(run, task):
    lines = next(run[1].rglob(f"samples_{task}_2*.jsonl")).read_text().splitlines()
    return sorted(map(json.loads, lines), key=lambda sample: sample["doc_id"])


def test_all_five_tasks_are_asked_and_say_what_they_could_not_make(runs):
    found = results(runs["written"])
    for part in PARTS:
        task = f"stereomap_{part}"
        assert found["n-samples"][task]["effective"] == 3 == len(samples(runs["written"], task))
        assert found["configs"][task]["generation_kwargs"]["temperature"] == 0.5
        assert {"groups", "numbers"} <= set(found["configs"][task]["cells"])
    # Behaviour asks three prompts of the first group, emotion two of it and one of the next.
    assert [s["records"]["part"] for s in samples(runs["written"], "stereomap_behavior")] == [
        "extended",
        "emotion",
        "behavior",
    ]
    assert "nothing to cluster" in runs["written"][0].stderr


def test_the_authors_dictionary_is_read_where_it_can_be_had(runs, shared):
    if not (shared / "official" / "stereomap").exists():
        assert runs["official"][0].returncode == 1 and "stereomap" in runs["official"][0].stderr
        pytest.skip("the authors' dictionary is not on this machine")
    assert results(runs["official"])["n-samples"]["stereomap_extended_official"]["effective"] == 1


def test_likelihoods_are_the_same_with_shared_prefixes(runs):
    plain, sharing = runs["likelihood"], runs["likelihood, shared"]
    for part in PARTS:
        task = f"stereomap_{part}_likelihood"
        assert results(plain)["results"][task]["unanswered,none"] == 0
        for one, other in zip(samples(plain, task), samples(sharing, task), strict=True):
            assert one["records"]["points"] == pytest.approx(other["records"]["points"], abs=1e-3)
            assert (
                one["records"]["direction"] == one["doc"]["direction"]
                and 0 < one["records"]["rating_mass"] < 1
            )


def test_groups_of_ones_own_are_asked_in_so_many_rounds(runs):
    found = results(runs["groups of one's own"])
    asked = samples(runs["groups of one's own"], "stereomap_extended")
    assert [(s["doc"]["group"], s["doc"]["round"]) for s in asked] == [
        ("Nurses", 1),
        ("Bankers", 1),
        ("Nurses", 2),
        ("Bankers", 2),
    ]
    assert (
        found["configs"]["stereomap_extended"]["generation_kwargs"]
        | {"temperature": 0, "do_sample": False}
        == found["configs"]["stereomap_extended"]["generation_kwargs"]
    )
    assert asked[0]["resps"] == asked[2]["resps"]  # the likeliest answer, twice
    assert asked[0]["records"]["groups_file"].startswith("groups.csv sha256:")
    assert {
        row["source"] for row in found["configs"]["stereomap_extended"]["cells"]["agreement"]
    } == {"groups file"}
    assert found["n-samples"]["stereomap_structure_likelihood"]["effective"] == 2 * 4 * 2


def test_a_mistake_is_told_in_one_line(runs):
    done, _ = runs["mistake"]
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert (
        done.stderr.strip().splitlines()[-1]
        == "lm-eval-bias: stereomap_extended: cannot read nowhere.csv: No such file or directory"
    )
