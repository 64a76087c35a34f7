"""Records of Every Eval Ever: each is valid in its schema, says of a signed number its distance,
and is filed where no name leads astray."""

import json
import re
import uuid
from math import inf, nan
from pathlib import Path

import jsonschema
import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.export import records as export_records
from lm_eval_bias.export.numbers import Source, chosen
from lm_eval_bias.export.records import Evaluator, folder_of, records
from lm_eval_bias.measure import Number, Summary, numbers
from tests.gate.judged import found, run_of

SCHEMA = json.loads(
    Path(__file__).with_name("every_eval_ever_0.3.0.schema.json").read_text(encoding="utf-8")
)
VALID = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)
VALUES = {
    "gap": (-6.0, 2.0, 0, None),
    "wide": (1.0, 2.0, 0, None),
    "share": (12.5, 2.0, None, "lower"),
    "right": (80.0, None, None, "higher"),
    "agree": (3.0, 0.0, 0, None),
    "bare": (3.0, None, None, None),
    "lost": (nan, nan, 0, None),
    "endless": (inf, 1.0, 0, None),
}


def of(folder, source=None, evaluator=None, model_id=None):
    """path -> record, and what was left out; each is valid, and its numbers pass the checks that
    the schema cannot make."""
    made, left = records(
        chosen(found(folder).runs)[0],
        source or Source(),
        evaluator or Evaluator(),
        1_770_000_000,
        "lm-eval-bias 1",
        model_id,
    )
    for path, content in made:
        check(
            path,
            json.loads(
                export_records.text(content),
                parse_constant=lambda name: pytest.fail(f"a bare {name}"),
            ),
        )
    assert len({path for path, _ in made}) == len(made)
    return {
        content["evaluation_results"][0]["metric_config"]["metric_id"]: (path, content)
        for path, content in made
    }, left


def check(path, content):
    errors = [f"{list(error.path)}: {error.message}" for error in VALID.iter_errors(content)]
    assert not errors, errors
    assert len(content["evaluation_results"]) == 1
    (result,) = content["evaluation_results"]
    config, details = result["metric_config"], result["score_details"]
    assert float(config["min_score"]) <= details["score"] <= float(config["max_score"])
    interval = details.get("uncertainty", {}).get("confidence_interval")
    assert interval is None or interval["lower"] < interval["upper"]
    # The data store's own rules for a path: data/COLLECTION/DEVELOPER/MODEL/UUID4.json, in names
    # that every file system takes.
    data, collection, developer, model, file = path.parts
    assert (
        (data, collection) == ("data", "lm-eval-bias")
        and re.fullmatch(r"[0-9a-f-]{36}\.json", file)
        and uuid.UUID(file[:-5]).version == 4
    )
    for name in (developer, model):
        assert (
            re.fullmatch(r"[!-~]{1,120}", name)
            and not re.search(r'[<>:"\\|?*/]', name)
            and name[-1] not in ". "
            and name[0] != "."
        )
        assert name == "unknown" or not re.fullmatch(
            r"(?i)(con|prn|aux|nul|com\d|lpt\d|data)(\..*)?", name
        )


def test_a_signed_number_is_its_distance_and_stands_in_the_details(tmp_path):
    run_of(tmp_path, "org/model", VALUES)
    found, left = of(tmp_path)
    assert set(found) == {
        "mine.gap.distance",
        "mine.wide.distance",
        "mine.agree.distance",
        "mine.share",
        "mine.right",
    }
    (result,) = found["mine.gap.distance"][1]["evaluation_results"]
    config, details = result["metric_config"], result["score_details"]
    assert config["lower_is_better"] is True and config["metric_parameters"] == {"null_value": 0}
    assert (config["min_score"], config["max_score"], config["metric_unit"]) == (
        0,
        "Infinity",
        "points",
    )
    # -6 ± t.975 of 23 degrees of freedom, 2.068658, x sqrt(24 / 23) x 2 = 4.226302
    assert (
        details["score"] == 6
        and details["uncertainty"]["standard_error"]["value"] == 2
        and details["uncertainty"]["num_samples"] == 100
    )
    interval = details["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"], interval["confidence_level"]) == (
        pytest.approx(6 - 4.226302, rel=1e-5),
        pytest.approx(6 + 4.226302, rel=1e-5),
        0.95,
    )
    assert "made by the task over 24 clusters" in interval["method"]
    told = details["details"]
    assert (
        float(told["signed_score"]) == -6
        and float(told["signed_lower"]) == pytest.approx(-6 - 4.226302, rel=1e-5)
        and float(told["null_value"]) == 0
    )
    # 1 ± 4.226302 holds 0, so the distance may be none.
    interval = found["mine.wide.distance"][1]["evaluation_results"][0]["score_details"][
        "uncertainty"
    ]["confidence_interval"]
    assert (interval["lower"], interval["upper"]) == (0, pytest.approx(1 + 4.226302, rel=1e-5))
    assert [line.split(" of ")[0] for line in left] == ["mine/bare"] and "a description" in left[0]


def test_a_number_with_a_direction_is_itself(tmp_path):
    run_of(tmp_path, "org/model", VALUES)
    found, _ = of(tmp_path)
    share, right = (
        found[f"mine.{name}"][1]["evaluation_results"][0] for name in ("share", "right")
    )
    assert (
        share["metric_config"]["lower_is_better"] is True
        and right["metric_config"]["lower_is_better"] is False
    )
    assert (share["score_details"]["score"], right["score_details"]["score"]) == (12.5, 80)
    assert (
        "confidence_interval" not in right["score_details"]["uncertainty"]
        and "none" in right["score_details"]["details"]["confidence_interval"]
    )


def test_an_error_of_0_is_no_certainty(tmp_path):
    run_of(tmp_path, "org/model", VALUES)
    details = of(tmp_path)[0]["mine.agree.distance"][1]["evaluation_results"][0]["score_details"]
    assert (
        set(details["uncertainty"]) == {"num_samples"}
        and "all clusters" in details["details"]["standard_error"]
    )


@pytest.mark.parametrize(
    ("unit", "null_value", "value", "expected"),
    [
        ("%", 50, 42.0, ("percent", 0, 50, 8)),
        ("score", 0, -0.25, ("score", 0, 1, 0.25)),
        ("%", None, 42.0, ("percent", 0, 100, 42)),
        ("share", None, 0.5, ("proportion", 0, 1, 0.5)),
        ("nats", 0, -2.0, ("nats", 0, "Infinity", 2)),
        ("count", None, 3.0, ("count", 0, "Infinity", 3)),
        ("points", None, -3.0, ("points", "-Infinity", "Infinity", -3)),
        ("odd", None, 5.0, (None, "-Infinity", "Infinity", 5)),
    ],
)
def test_unit_and_bounds(tmp_path, unit, null_value, value, expected):
    way = None if null_value is not None else "lower"
    run_of(tmp_path, "m", {"x": (value, None, null_value, way)}, unit=unit)
    ((_, content),) = of(tmp_path)[0].values()
    config = content["evaluation_results"][0]["metric_config"]
    assert (
        config.get("metric_unit"),
        config["min_score"],
        config["max_score"],
        content["evaluation_results"][0]["score_details"]["score"],
    ) == expected


def test_who_asked_what_of_whom(tmp_path):
    facts = {"lm_eval_version": "0.4.13", "transformers_version": "5.2", "date": 1_769_850_672.5}
    run_of(
        tmp_path,
        "org/model",
        {"x": (1.0, 0.5, None, "lower")},
        n=40,
        metadata={"order": "both"},
        chat_template_sha="a" * 64,
        **facts,
    )
    ((path, record),) = of(
        tmp_path,
        Source("org/bench", "0123abc", "https://a.example", "Lab"),
        Evaluator("The Lab", "third_party"),
    )[0].values()
    assert (
        path.parts[2:4] == ("org", "model")
        and record["model_info"]["id"] == "org/model"
        and record["model_info"]["developer"] == "org"
    )
    assert record["model_info"]["inference_engine"] == {"name": "transformers", "version": "5.2"}
    assert record["model_info"]["additional_details"]["deployment_type"] == "self_deployed"
    assert (
        record["eval_library"] == {"name": "lm_eval", "version": "0.4.13"}
        and record["evaluation_timestamp"] == "1769850672"
    )
    assert (
        record["source_metadata"]["source_organization_name"] == "The Lab"
        and record["source_metadata"]["evaluator_relationship"] == "third_party"
    )
    result = record["evaluation_results"][0]
    assert (
        result["source_data"]["hf_repo"] == "org/bench"
        and result["source_data"]["additional_details"]["option order"] == "both"
    )
    assert result["source_data"]["additional_details"]["option chat template"] == "a" * 12
    assert result["score_details"]["details"]["warning 1"] == "asked 40 of 100 documents"


# ---- Names


HOSTILE = [
    "../../etc/passwd",
    "/a/../..",
    "..",
    ".",
    "org/../x",
    "a\x1b[2J",
    "модель",
    "CON",
    "nul.txt",
    "data/data",
    "org/aux",
    "a" * 400,
    "org/" + "b" * 400,
    "a b",
    "\u202eabc",
    "=1+1",
    "a:b",
    "c:\\x\\y",
    "x/",
    "//",
    "@rev",
    "org/m@rev",
    "unknown/x",
    "org/a/b",
    "org/a_b",
    "ORG/A_B",
    " ",
    "a.",
    "\n",
]


def test_no_name_leads_out_of_the_folder_or_to_the_file_of_another(tmp_path):
    for i, name in enumerate(HOSTILE):
        run_of(tmp_path, name, {"x": (1.0, 0.5, None, "lower")}, minutes=i, task=f"t{i}")
    made, _ = of(tmp_path)
    assert len(made) == len(HOSTILE)
    folders = {}
    for path, content in made.values():
        folders.setdefault(str(path.parent).casefold(), set()).add(content["model_info"]["id"])
        assert not re.search(r"[\x00-\x1f\u202e]", json.dumps(content, ensure_ascii=False))
    assert all(len(models) == 1 for models in folders.values())


@pytest.mark.parametrize(
    ("name", "folder"),
    [("org/model", "org/model"), ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B"), ("gpt2", "unknown/gpt2")],
)
def test_a_plain_name_is_its_folder(name, folder):
    assert folder_of(name) == folder


# ---- Files


@pytest.fixture
def run(command):
    return lambda *arguments: command("export", *arguments, "--to", "every-eval-ever")


def test_an_export_again_is_the_same_files(tmp_path, run, monkeypatch):
    run_of(tmp_path / "runs", "org/model", VALUES)
    assert (
        run(tmp_path / "runs", "--output", tmp_path)[1]
        == f"wrote 5 records below {tmp_path / 'data' / 'lm-eval-bias'}\n"
    )
    before = {path: path.read_bytes() for path in (tmp_path / "data").rglob("*.json")}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert (
        "wrote 0 records" in (again := run(tmp_path / "runs", "--output", tmp_path)[1])
        and "5 stood there already" in again
    )
    assert before == {path: path.read_bytes() for path in (tmp_path / "data").rglob("*.json")}
    run_of(tmp_path / "runs", "org/model", VALUES, minutes=5)  # a newer run is another evaluation
    run(tmp_path / "runs", "--output", tmp_path)
    assert len(list((tmp_path / "data").rglob("*.json"))) == 10


def test_what_is_not_its_own_is_not_overwritten(tmp_path, run):
    run_of(tmp_path / "runs", "org/model", {"x": (1.0, 0.5, None, "lower")})
    run(tmp_path / "runs", "--output", tmp_path)
    (file,) = (tmp_path / "data").rglob("*.json")
    for content in ("mine", "{}", '{"evaluation_id": "another"}', "[" * 10_000):
        file.write_text(content)
        status, out, err = run(tmp_path / "runs", "--output", tmp_path)
        assert (
            status == 1
            and not out
            and "is no record of mine.x/org/model" in err
            and file.read_text() == content
        )


def test_without_a_folder_the_records_are_printed_a_line_each(tmp_path, run):
    run_of(tmp_path, "org/model", VALUES)
    run_of(tmp_path, "org/other", VALUES, minutes=1)
    status, out, err = run(tmp_path)
    lines = [json.loads(line) for line in out.splitlines()]
    assert (
        status == 0
        and len(lines) == 10
        and not any(VALID.iter_errors(line) for line in lines if list(VALID.iter_errors(line)))
    )
    assert (
        "mine/lost of org/model is left out: it does not exist in this run" in err
        and "NaN" not in out
    )


def test_a_model_without_a_developer_is_told_of(tmp_path, run):
    run_of(tmp_path, "/home/somebody/llama", {"x": (1.0, 0.5, None, "lower")})
    status, out, err = run(tmp_path)
    assert status == 0 and "llama: its developer is unknown" in err and "somebody" not in out
    status, out, err = run(tmp_path, "--model_id", "org/llama")
    assert json.loads(out)["model_info"]["id"] == "org/llama" and "developer" not in err


def test_every_task_of_ours_makes_valid_records(tmp_path):
    """All metrics that our tasks declare, with made-up values that exist, in a record each or left
    out with a reason."""
    seen = {}
    for task in catalogue.tasks():
        if task.measure is not None:
            seen.setdefault(id(task.measure.metrics), task)
    count = 0
    for i, task in enumerate(seen.values()):
        path = run_of(tmp_path, "org/model", {}, task=task.name, minutes=i)
        content = json.loads(path.read_text())
        values = {metric.name: Number(0.5, 0.1, 0.25, 0.75, 20) for metric in task.measure.metrics}
        content["configs"][task.name]["cells"]["numbers"] = numbers(task.measure, Summary(values))
        shown = {f"{metric.name},none": 0.5 for metric in task.measure.metrics if metric.primary}
        content["results"][task.name] |= shown
        path.write_text(json.dumps(content))
        count += sum(metric.primary for metric in task.measure.metrics)
    made, left = of(tmp_path)
    assert len(made) + len(left) == count and len(made) > 50
