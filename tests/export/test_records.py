"""Records of Every Eval Ever: each is valid in its schema, says of a signed number its distance,
and is filed where no name leads astray."""

import json
import random
import re
import uuid
import warnings
from math import inf, nan
from pathlib import Path

import jsonschema
import pytest

from lm_eval_bias.export import hub
from lm_eval_bias.export.numbers import chosen
from lm_eval_bias.export.records import records
from lm_eval_bias.usage import UsageError
from tests.gate.judged import found, run_of
from tests.hostile import changed
from tests.scripted import edited

SCHEMA = json.loads(
    Path(__file__).with_name("every_eval_ever_0.3.0.schema.json").read_text("utf-8")
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


def of(folder):
    """path -> record, and what was left out; each is valid, and its numbers pass the checks that
    the schema cannot make."""
    made, left = records(chosen(found(folder).runs)[0])
    for path, content in made.items():
        check(path, json.loads(json.dumps(content, allow_nan=False)))
    return {
        content["evaluation_results"][0]["metric_config"]["metric_id"]: (path, content)
        for path, content in made.items()
    }, left


def check(path, content):
    errors = [f"{list(error.path)}: {error.message}" for error in VALID.iter_errors(content)]
    assert not errors, errors
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


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Metric -> its configuration, score, uncertainty and details; and what was left out."""
    folder = tmp_path_factory.mktemp("runs")
    run_of(folder, VALUES, "org/model")
    made, left = of(folder)
    parts = {}
    for name, (_, content) in made.items():
        (result,) = content["evaluation_results"]
        score = result["score_details"]
        details = (score["score"], score["uncertainty"], score["details"])
        parts[name.removeprefix("mine.")] = (result["metric_config"], *details)
    return parts, left


def test_a_signed_number_is_its_distance_and_stands_in_the_details(exported):
    made, left = exported
    config, score, uncertainty, details = made["gap.distance"]
    expected = {"min_score": 0, "max_score": "Infinity", "metric_unit": "points"}
    expected |= {"lower_is_better": True, "metric_parameters": {"null_value": 0}}
    assert expected.items() <= config.items() and score == 6
    assert uncertainty["standard_error"]["value"] == 2 and uncertainty["num_samples"] == 37
    # -6 ± t.975 of 23 degrees of freedom, 2.068658, x 2 = 4.137315
    half = pytest.approx(4.137315, rel=1e-6)
    interval = uncertainty["confidence_interval"]
    assert (6 - interval["lower"], interval["upper"] - 6) == (half, half)
    assert interval["confidence_level"] == 0.95
    assert "made by the task over 24 clusters" in interval["method"]
    assert (float(details["signed_score"]), float(details["null_value"])) == (-6, 0)
    assert -6 - float(details["signed_lower"]) == half
    # 1 ± 4.226302 holds 0, so the distance may be none.
    interval = made["wide.distance"][2]["confidence_interval"]
    assert (interval["lower"], interval["upper"] - 1) == (0, half)
    assert [line.split(" of ")[0] for line in left] == ["mine/bare"] and "a description" in left[0]


def test_an_error_of_0_is_no_certainty(exported):
    _, _, uncertainty, details = exported[0]["agree.distance"]
    assert set(uncertainty) == {"num_samples"} and "all clusters" in details["confidence_interval"]


def test_units_and_bounds(tmp_path):
    numbers = {
        # unit, null value, value -> as it is written
        ("%", 50, 42.0): ("percent", 0, 50, 8),
        ("%", None, 42.0): ("percent", 0, 100, 42),
        ("share", None, 0.5): ("proportion", 0, 1, 0.5),
        ("nats", 0, -2.0): ("nats", 0, "Infinity", 2),
        ("odd", None, 5.0): (None, "-Infinity", "Infinity", 5),
    }
    for i, ((unit, null_value, value), expected) in enumerate(numbers.items()):
        way = None if null_value is not None else "lower"
        run_of(tmp_path / str(i), {"x": (value, None, null_value, way)}, unit=unit)
        ((_, content),) = of(tmp_path / str(i))[0].values()
        (result,) = content["evaluation_results"]
        keys = ("metric_unit", "min_score", "max_score")
        parts = [result["metric_config"].get(key) for key in keys]
        assert (*parts, result["score_details"]["score"]) == expected


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
        run_of(tmp_path, {"x": (1.0, 0.5, None, "lower")}, name, minutes=i, task=f"t{i}")
    made, _ = of(tmp_path)
    assert len(made) == len(HOSTILE)
    assert len({str(path).casefold() for path, _ in made.values()}) == len(HOSTILE)
    for _, content in made.values():
        assert not re.search(r"[\x00-\x1f\u202e]", json.dumps(content, ensure_ascii=False))


# ---- Files


@pytest.fixture
def run(command):
    return lambda *arguments: command("export", *arguments, "--to", "every-eval-ever")


def test_an_export_again_is_the_same_files(tmp_path, run):
    """But for when it was made."""

    def files():
        paths = (tmp_path / "data").rglob("*.json")
        return {p: json.loads(p.read_text()) | {"retrieved_timestamp": ""} for p in paths}

    run_of(tmp_path / "runs", VALUES, "org/model")
    wrote = f"wrote 5 records below {tmp_path / 'data' / 'lm-eval-bias'}\n"
    assert run(tmp_path / "runs", "--output", tmp_path)[1] == wrote
    before = files()
    assert run(tmp_path / "runs", "--output", tmp_path)[1] == wrote and before == files()
    run_of(tmp_path / "runs", VALUES, "org/model", minutes=5)  # a newer run is another evaluation
    run(tmp_path / "runs", "--output", tmp_path)
    assert len(files()) == 10


def test_without_a_folder_the_records_are_printed_a_line_each(tmp_path, run):
    run_of(tmp_path, VALUES, "org/model")
    run_of(tmp_path, VALUES, "org/other", minutes=1)
    status, out, err = run(tmp_path)
    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 0 and len(lines) == 10
    assert not any(list(VALID.iter_errors(line)) for line in lines)
    assert (
        "mine/lost of org/model is left out: it does not exist in this run" in err
        and "NaN" not in out
    )


def test_a_model_without_a_developer_is_told_of(tmp_path, run):
    run_of(tmp_path, {"x": (1.0, 0.5, None, "lower")}, "/home/somebody/llama")
    status, out, err = run(tmp_path)
    assert status == 0 and "llama: its developer is unknown" in err and "somebody" not in out
    status, out, err = run(tmp_path, "--model_id", "org/llama")
    assert json.loads(out)["model_info"]["id"] == "org/llama" and "developer" not in err


# ---- Results files in which anything may stand


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_results_file_breaks_what_is_made_of_it(tmp_path, seed):
    """What is read of it reaches both formats, or is told."""
    facts = {"metadata": {"order": "both"}, "date": 1.0, "lm_eval_version": "0.4.13"}
    path = run_of(tmp_path, VALUES, "org/model", ends={"gap": (-9.0, -3.0)}, **facts)
    chance = random.Random(seed)
    with edited(path) as content:
        for _ in range(chance.randint(1, 3)):
            changed(content, chance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of numpy, for infinite numbers
        try:
            runs = found(tmp_path).runs
        except UsageError:
            return
        results, left = chosen(runs)
        "\n".join(left).encode()
        entries, _ = hub.entries(results, "org/bench")
        once = hub.text(entries)
        assert hub.text(entries, hub.standing(once)) == once
        for path, record in records(results)[0].items():
            json.dumps(record, allow_nan=False)
            assert VALID.is_valid(record) and ".." not in path.parts
