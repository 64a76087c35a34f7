"""docs/tutorials, the gallery and the notebook: their commands and cells run as they stand there,
on a few documents."""

import json
import re

import pytest

from tests.documented import blocks, follow

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
    texts = {
        name: follow(place, (docs / "tutorials" / f"{name}.md").read_text(), few)
        for name in TUTORIALS
    }
    # the runs are there
    follow(place, re.sub(r"(?m)^lm_eval .*\n", "", (docs / "gallery.md").read_text()), few)
    return texts


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize("page", TUTORIALS)
def test_the_commands_of_a_tutorial_run_and_print_the_numbers_that_it_shows(root, printed, page):
    text = (root / f"docs/tutorials/{page}.md").read_text(encoding="utf-8")
    shown = [block for language, block in blocks(text) if language == "text"]
    name = re.compile(r"\b[a-z]+_[a-z_]+\b")
    names = set(name.findall(" ".join(shown)))
    assert names and names <= set(name.findall(printed[page]))


@pytest.mark.slow
@pytest.mark.model
def test_the_cells_of_the_notebook_draw_a_number_of_the_run(root, printed, place, monkeypatch):
    notebook = json.loads((root / "docs/examples/read_a_run.ipynb").read_text(encoding="utf-8"))
    monkeypatch.chdir(place)
    names = {}
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    (path,) = (place / "results").rglob("results_*.json")
    written = json.loads(path.read_text())["configs"]["bistereo_analogy"]["cells"]["numbers"]
    assert list(names["numbers"]["value"].dropna()) == [
        row["value"] for row in written if row["value"] == row["value"]
    ]
    assert len(names["samples"]) == FEW and "log_odds" in names["records"]
    assert names["figure"].to_dict()["layer"][0]["encoding"]["x2"]["field"] == "high"


def test_pictures_of_the_gallery_are_small_and_their_words_are_dark_on_white(root):
    text = (root / "docs/gallery.md").read_text(encoding="utf-8")
    pictures = [root / "docs" / path for path in re.findall(r"!\[.+?\]\((\S+)\)", text)]
    assert set(pictures) >= set((root / "docs/pictures").glob("*.svg"))
    assert sum(picture.stat().st_size for picture in pictures) < 1_000_000
    for picture in pictures:
        assert picture.suffix == ".png" or "background:white" in picture.read_text(encoding="utf-8")
