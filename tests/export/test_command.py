"""`lm-eval-bias export`: the docs hold it, mistakes end with a line that says what to do, and
hostile names stay texts."""

import json
import re
import shlex
from math import nan

import pytest
import yaml

from lm_eval_bias.results.escape import visible
from tests.gate.judged import run_of


def test_the_docs_show_what_a_made_up_run_gives(root, here, command):
    """Where they differ, this prints what belongs there."""
    document = (root / "docs" / "how-to" / "export.md").read_text("utf-8")
    values = {"non_neutral": (12.5, 1.5), "halo_gap": (-6.0, 1.5), "responds": (84.0, 2.0)}
    values["gap_beyond_words"] = nan, nan
    run_of(
        here / "runs",
        values,
        "org/model",
        ends={"halo_gap": (-9.0, -3.0)},
        clusters=60,
        task="bistereo_nli",
        version=1.0,
        n=78_544,
        of=78_544,
        units=60_256,
    )
    lines = re.findall(r"^lm-eval-bias export (.*)", document, re.M)
    hub, records = map(shlex.split, lines)
    status, out, err = command("export", *hub)
    assert status == 0 and f"```yaml\n{out}```" in document and f"```text\n{err}```" in document, (
        out + err
    )
    assert command("export", *records)[0] == 0
    (file,) = (here / "data").rglob("*.json")
    (result,) = json.loads(file.read_text())["evaluation_results"]
    interval = result["score_details"]["uncertainty"]["confidence_interval"]
    ends = result["score_details"]["score"], interval["lower"], interval["upper"]
    assert "here {:g} with an interval from {:g} to {:g}".format(*ends) in document


MISTAKES = """
runs --to hub | --to hub needs --dataset_id OWNER/NAME
runs --to hub --dataset_id bench | --dataset_id bench: expected OWNER/NAME
runs --to hub --dataset_id a/b | there are 2; choose with --model: org/one, org/two
runs --to hub --dataset_id a/b --model org/on | no run is of that model; did you mean org/one?
runs --to every-eval-ever --output absent | --output absent: expected a folder that is there
runs --to every-eval-ever --model_id org/x | --model_id is of one model, and there are 2
runs --to every-eval-ever --metrics gup | --metrics gup: no run has that number; did you mean gap?
runs --to hub --dataset_id a/b --model org/one --metrics gap | nothing to export to hub
"""


@pytest.mark.parametrize("mistake", MISTAKES.strip().splitlines())
def test_mistakes_end_with_a_line_that_says_what_to_do(here, command, mistake):
    arguments, told = mistake.split(" | ")
    values = {"gap": (1.0, 1.0, 0, None), "share": (1.0, 1.0, None, "lower")}
    for i, name in enumerate(("org/one", "org/two")):
        run_of(here / "runs", values, name, minutes=i)
    status, out, err = command("export", *arguments.split())
    assert status == 1 and not out and told in err.splitlines()[-1]


def test_a_link_is_not_written_through(tmp_path, command):
    """As in the cache of the hub, where the files of a model are links."""
    run_of(tmp_path / "runs", {"share": (1.0, 1.0, None, "lower")}, "org/model")
    (tmp_path / "blob").write_text("[]\n")
    (tmp_path / ".eval_results").mkdir()
    (tmp_path / ".eval_results" / "lm-eval-bias.yaml").symlink_to(tmp_path / "blob")
    to_hub = ("--to", "hub", "--dataset_id", "a/b", "--output", tmp_path)
    status, _, err = command("export", tmp_path / "runs", *to_hub)
    assert status == 1 and "is a link" in err and (tmp_path / "blob").read_text() == "[]\n"
    to_records = ("--to", "every-eval-ever", "--output", tmp_path)
    assert command("export", tmp_path / "runs", *to_records)[0] == 0
    (record,) = (tmp_path / "data").rglob("*.json")
    record.unlink()
    record.symlink_to(tmp_path / "blob")
    status, _, err = command("export", tmp_path / "runs", *to_records)
    assert status == 1 and "is a link" in err and (tmp_path / "blob").read_text() == "[]\n"


def test_hostile_names_steer_no_format(tmp_path, command):
    """Neither the terminal nor the YAML: no control, no override of direction, and what is read is
    what was written."""
    for i, name in enumerate(("a\x1b[2J", "\u202eabc: 1")):
        values = {name: (1.0, 0.5, None, "lower"), "gap": (1.0, 0.5, 0, None)}
        run_of(tmp_path / str(i), values, name, task=f"{name}\nt", metadata={"option": name})
        for form in (["hub", "--dataset_id", "a/b"], ["every-eval-ever"]):
            status, out, err = command("export", tmp_path / str(i), "--to", *form)
            assert status == 0 and all(visible(line) == line for line in (out + err).split("\n"))
            assert yaml.safe_load(out.splitlines()[0] if form[0] == "every-eval-ever" else out)
