import csv
from functools import cache
from pathlib import Path

import lm_eval
import pytest
import yaml

from lm_eval_bias import catalogue
from lm_eval_bias.benchmarks.bistereo import nli_documents, pairs_documents
from lm_eval_bias.benchmarks.hbb.official_documents import QUESTIONS
from lm_eval_bias.results.runs import find
from tests.scripted import ask, write_lines


@pytest.fixture(scope="session")
def built():
    """The documents of a function, made once for all tests, which must not change them."""
    return cache(lambda documents: documents())


@pytest.fixture(scope="module")
def every(built, request):
    """The documents of BIStereo that a file of tests is called by."""
    of = nli_documents if "nli" in request.module.__name__ else pairs_documents
    return built(of.documents)


@pytest.fixture(scope="module")
def docs(every):
    """Those of BIStereo's own design."""
    return [d for d in every if d["paper"]]


@pytest.fixture(scope="session")
def questions(authors):
    """The rows of HBB's authors."""
    with authors(f"hbb/{QUESTIONS}").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def finished(tmp_path):
    """(a YAML of the harness, documents of its form, model) -> the run that is read back. name: of
    the model and of the folder."""

    def run(file, documents, lm, name="model", limit=None):
        path = Path(lm_eval.__file__).parent / "tasks" / f"{file}.yaml"
        data = write_lines(tmp_path / "documents.jsonl", documents)
        task = path.read_text().partition("task: ")[2].split()[0]
        own = {
            "include": str(path),
            "task": task,
            "dataset_path": "json",
            "dataset_name": None,
            "dataset_kwargs": {"data_files": {"train": str(data), "test": str(data)}},
        }
        (tmp_path / "own.yaml").write_text(yaml.safe_dump(own))
        ask(tmp_path / name, name, lm, task, include=[tmp_path], limit=limit)
        (result,) = find([tmp_path / name], catalogue.measured()).runs
        return result

    return run
