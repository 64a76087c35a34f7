"""docs/tutorials and the notebooks: their commands and cells run as they stand there, on a few
documents."""

import json
import re

import pytest

from tests.documented import blocks, follow
from tests.test_python import only_our_tasks  # noqa: F401

pytestmark = [pytest.mark.slow, pytest.mark.model]
# What is there already in a test: the environment and the small model.
INSTALLED = re.compile(r"^(python3 -m venv|pip install|source|lm-eval-bias model) .*\n", re.M)
FEW = 12
TUTORIALS = ("first_run", "compare_two_models", "own_groups")


def few(text):
    """The same commands, of a few documents."""
    text = INSTALLED.sub("", text.replace("\\\n", " "))
    text = re.sub(r" --limit \d+", "", text)
    return re.sub(r"^lm_eval .*", rf"\g<0> --limit {FEW}", text, flags=re.M)


@pytest.fixture(scope="module")
def place(tmp_path_factory, model_folder):
    folder = tmp_path_factory.mktemp("tutorials")
    (folder / ".model").symlink_to(model_folder)
    (folder / "mine").mkdir()
    return folder


@pytest.fixture(scope="module")
def printed(root, place):
    """What the commands of each tutorial print, in the order in which a reader comes to them."""
    docs = root / "docs"
    return {
        name: follow(place, (docs / "tutorials" / f"{name}.md").read_text(), few)
        for name in TUTORIALS
    }


@pytest.mark.parametrize("page", TUTORIALS)
def test_the_commands_of_a_tutorial_run_and_print_the_numbers_that_it_shows(root, printed, page):
    text = (root / f"docs/tutorials/{page}.md").read_text()
    shown = [block for language, block in blocks(text) if language == "text"]
    name = re.compile(r"\b[a-z]+_[a-z_]+\b")
    names = set(name.findall(" ".join(shown)))
    assert names and names <= set(name.findall(printed[page]))


def cells(root, name):
    """What the cells of a notebook leave, run in the working directory on few documents."""
    notebook = json.loads((root / f"docs/examples/{name}.ipynb").read_text())
    left = {}
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        if cell["cell_type"] == "code":
            exec(re.sub(r"limit=\d+", f"limit={FEW}", "".join(cell["source"])), left)
    return left


def test_a_notebook_reads_the_numbers_and_answers_of_a_run(root, printed, place, monkeypatch):
    monkeypatch.chdir(place)
    left = cells(root, "read_a_run")
    (path,) = (place / "results").rglob("results_*.json")
    written = json.loads(path.read_text())["configs"]["bistereo_analogy"]["cells"]["numbers"]
    values = [row["value"] for row in written if row["value"] == row["value"]]
    assert list(left["numbers"]["value"].dropna()) == values
    assert len(left["records"]) == FEW and "log_odds" in left["records"]
    assert (place / "axes.pdf").stat().st_size > 1000


def test_a_notebook_goes_from_two_models_to_a_figure_and_a_table(root, place, monkeypatch):
    monkeypatch.chdir(place)
    left = cells(root, "two_models")
    assert "base" in left["latex"] and "tuned" in left["latex"] and "verdict" not in left["latex"]
    assert (place / "axes-column.pdf").stat().st_size > 1000
