"""All tasks of StereoMap on the small real model, through the command line of its README."""

import json

import pytest

from tests.started import Run

pytestmark = [pytest.mark.model, pytest.mark.slow]

PARTS = ("original", "extended", "structure", "emotion", "behavior")
# Of behaviour the three prompts about a group.
WRITTEN = {f"stereomap_{part}": [0] for part in (*PARTS, "extended_official")}
WRITTEN["stereomap_behavior"] = [0, 1, 2]
GROUPS = "name,text,cluster,competence,warmth\nNurses,nurses,a,4,5\nBankers,bankers,b,4,2\n"
COMMANDS = {
    "written": (
        f"hf-prefix --tasks {','.join(WRITTEN)} --samples "
        f"{json.dumps(WRITTEN, separators=(',', ':'))} "
        "--apply_chat_template --batch_size 8 --gen_kwargs max_gen_toks=8"
    ),
    "groups of one's own": (
        "hf-prefix --tasks stereomap_extended,stereomap_structure_likelihood "
        "--metadata groups=groups.csv rounds=2 temperature=0 prompts=divided "
        "--gen_kwargs max_gen_toks=8"
    ),
}


@pytest.fixture(scope="module")
def runs(model_folder, shared, tmp_path_factory):
    if not (shared / "official" / "stereomap").exists():
        pytest.skip("the authors' dictionary is not on this machine")
    settings = {"LM_EVAL_BIAS_DATA": str(shared / "official")}

    def run(command):
        folder = tmp_path_factory.mktemp("stereomap")
        (folder / "groups.csv").write_text(GROUPS)
        return Run(model_folder, folder, ["--model", *command.split()], settings)

    return {name: run(command) for name, command in COMMANDS.items()}


def test_all_tasks_are_asked_and_report_what_they_could_not_make(runs):
    run = runs["written"]
    for task, documents in WRITTEN.items():
        asked = run.results["n-samples"][task]["effective"]
        assert asked == len(documents) == len(run.samples(task))
        assert run.results["configs"][task]["generation_kwargs"]["temperature"] == 0.5
        assert {"groups", "numbers"} <= set(run.cells(task))
    parts = [s["records"]["part"] for s in run.samples("stereomap_behavior")]
    assert parts == ["extended", "emotion", "behavior"]
    assert "No clusters" in run.done.stderr


def test_groups_of_ones_own_are_asked_in_so_many_rounds(runs):
    run, task = runs["groups of one's own"], "stereomap_extended"
    samples = run.samples(task)
    assert [tuple(s["doc"][key] for key in ("group", "round", "divided")) for s in samples] == [
        (group, number, question)
        for number in (1, 2)
        for group in ("Nurses", "Bankers")
        for question in ("keywords", "ratings", "Overall")
    ]
    greedy = {"temperature": 0, "do_sample": False}
    assert greedy.items() <= run.results["configs"][task]["generation_kwargs"].items()
    assert samples[0]["resps"] == samples[6]["resps"]  # the likeliest answer, twice
    assert samples[0]["records"]["groups_file"].startswith("groups.csv sha256:")
    assert {row["source"] for row in run.cells(task)["agreement"]} == {"groups file"}
    scored = run.samples("stereomap_structure_likelihood")
    assert len(scored) == 2 * 4 * 2 and all(0 < s["records"]["rating_mass"] < 1 for s in scored)
    assert {s["records"]["direction"] for s in scored} == {"rising", "falling"}
