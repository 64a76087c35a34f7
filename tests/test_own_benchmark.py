"""docs/own_benchmark.md, file by file and command by command as they stand there."""

import json
import os
import re
import subprocess
import sys

import pytest

# The real command, but for the harness's own thousands of YAML files, which take ten seconds to
# index.
LM_EVAL = """
import sys
import lm_eval.tasks._index as index
own, found = index.__file__.rpartition("/")[0], index.TaskIndex._iter_yaml_files
not_own = lambda root: () if str(root) == own else found(root)
index.TaskIndex._iter_yaml_files = staticmethod(not_own)
sys.argv[0] = "lm_eval"
from lm_eval.__main__ import cli_evaluate
cli_evaluate()
"""


@pytest.fixture(scope="module")
def document(root):
    return (root / "docs" / "own_benchmark.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def files(document):
    return {
        name: f"# {name}\n{text}"
        for name, text in re.findall(
            r"```(?:yaml|python)\n# (mine/\S+)\n(.*?)```", document, re.DOTALL
        )
    }


@pytest.fixture(scope="module")
def place(root, tmp_path_factory):
    """A folder with our docs/ and the two commands."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "mine").mkdir()
    (folder / "docs").symlink_to(root / "docs")
    (folder / "bin").mkdir()
    (folder / "bin" / "run.py").write_text(LM_EVAL)
    commands = {"lm_eval": f"{folder}/bin/run.py", "lm-eval-bias": "-m lm_eval_bias.cli"}
    for name, program in commands.items():
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
        (folder / "bin" / name).chmod(0o755)
    return folder


def run(folder, command):
    path = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    done = subprocess.run(
        ["bash", "-euc", command],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **path},
    )
    return done.returncode, done.stdout, done.stderr


def test_a_benchmark_of_ones_own_takes_forty_lines(files):
    assert (
        sum(len(files[name].splitlines()) for name in ("mine/pay_rise.yaml", "mine/pay_rise.py"))
        <= 40
    )


@pytest.fixture(scope="module")
def said(document, place):
    """What the commands print; files are written and commands run in the order of the document."""
    texts = []
    for language, text in re.findall(r"```(\w+)\n(.*?)```", document, re.DOTALL):
        if language == "bash":
            status, out, errors = run(place, text)
            assert status == 0, (text, out, errors)
            texts.append(out)
        elif language != "text":
            name = re.match(r"# (mine/\S+)\n", text)[1]
            (place / name).write_text(text, encoding="utf-8")
    return "\n".join(texts)


def test_every_command_of_the_document_runs(said):
    for task, row in [
        ("pay_rise", "pay_gap"),
        ("hbb", "excess_difference"),
        ("mist_wabt_likelihood", "bias_score_warmth|bias_score"),
        ("empathy_caste", "delta"),
        ("hbb_german", "excess_difference"),
        ("nli_german", "halo_gap"),
    ]:
        table = said[said.index(f"|{task}") if f"|{task}" in said else said.index(f"| {task}") :]
        assert re.search(rf"\|({row}) *\|", table), (task, said)


def test_tasks_and_merge_know_a_benchmark_of_ones_own(said):
    assert "pay_rise: is a pay rise granted to women as to men" in said and re.search(
        r"^pay_gap +points +0 +P\(yes\)", said, re.M
    )
    assert "pay_rise: 12 documents of 1 file" in said


def test_a_benchmark_of_ones_own_is_in_report_compare_and_plan(place, said):
    assert "1 model, 1 task, 1 figure" in said
    (page,) = (path for path in (place / "report").glob("*.html") if path.name != "index.html")
    text = page.read_text(encoding="utf-8")
    assert (
        "Pay gap by job" in text
        and "Above 0 a man is granted the pay rise sooner." in text
        and ">carpenter<" in text
    )
    # twelve jobs are the clusters; two seeds of a model that answers at random are paired on the
    # same 48 documents
    compared = said[said.index("\nfirst: ") : said.index("Each line is a number of both runs")]
    # in a narrow terminal the numbers stand below the name
    assert re.search(r"^pay_rise_jobs/pay_gap [^\[]*\[", compared, re.M)
    assert "unpaired" not in compared
    assert re.search(r"^pay_rise_jobs, \w+: 48 of 48 documents, 12 clusters$", said, re.M)


def test_check_says_what_a_file_holds(said):
    assert (
        "mine/regions.yaml: groups of hbb: 2 descriptor types, 5 identities, 3 names, 2 pronouns"
        in said
    )
    # a question for each of five identities, in both orders
    assert "mine/concepts.yaml: items of hbb: 1 concept pairs\n10 documents" in said
    # two events, three names with each
    assert (
        "mine/events.csv: items of empathy_caste: 2 events, 2 emotions" in said
        and "32 documents, with groups of mine/castes.yaml" in said
    )


def test_check_lists_all_that_is_wrong_as_the_document_shows(document, place, said):
    command, shown = re.search(
        r"```text\n\$ (lm-eval-bias check.*?)\n(.*?)```", document, re.DOTALL
    ).groups()
    assert run(place, command) == (1, "", shown)


def test_a_run_refuses_what_check_refuses(place, said):
    command = "lm_eval --model dummy --tasks mist_wabt --metadata groups=mine/broken.yaml"
    status, _, errors = run(place, command)
    assert (
        status == 1
        and "line 4, groups > Cleaners > side: 'c' is not one of a, b" in errors
        and errors.count("Traceback") == 0
    )


def test_results_and_records_name_the_files(place, said):
    command = (
        "lm_eval --model dummy --tasks hbb --metadata groups=mine/regions.yaml --limit 6 "
        "--log_samples --output_path named"
    )
    assert run(place, command)[0] == 0
    (results,) = place.glob("named/*/results_*.json")
    metadata = json.loads(results.read_text())["configs"]["hbb"]["metadata"]
    assert metadata["groups"] == "mine/regions.yaml" and "items" not in metadata
    sha256 = subprocess.run(
        ["sha256sum", place / "mine" / "regions.yaml"], capture_output=True, text=True
    ).stdout.split()[0]
    assert metadata["groups_sha256"] == sha256
    (samples,) = place.glob("named/*/samples_hbb_*.jsonl")
    for line in samples.read_text().splitlines():
        assert (
            json.loads(line)["records"]["groups_file"] == f"mine/regions.yaml sha256:{sha256[:12]}"
        )
