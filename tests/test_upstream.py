"""docs/upstream: each patch of the harness applies to what is installed and imports; of tags the
first assertion is the fault, the second the same with the patch."""

import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import lm_eval
import lm_eval.loggers
import lm_eval.utils
import pytest
from lm_eval.tasks._index import TaskIndex


@pytest.fixture
def patched(root, tmp_path, monkeypatch):
    def apply(patch):
        """The modules that a patch changes, loaded from a patched copy, by the ends of their
        names."""
        source, patch = Path(lm_eval.__file__).parents[1], root / "docs" / "upstream" / patch
        modules = {}
        files = re.findall(r"^\+\+\+ b/(\S+)\.py$", patch.read_text(), re.M)
        for file in files:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / f"{file}.py", tmp_path / f"{file}.py")
        command = ["patch", "-p1", "--fuzz=0", "--silent", "-i", patch]
        subprocess.run(command, cwd=tmp_path, check=True)
        for file in files:
            name = file.replace("/", ".")
            spec = spec_from_file_location(f"{name}_patched", tmp_path / f"{file}.py")
            module = modules[name.rpartition(".")[2]] = module_from_spec(spec)
            monkeypatch.setitem(sys.modules, spec.name, module)
            spec.loader.exec_module(module)
        return SimpleNamespace(**modules)

    return apply


@pytest.mark.parametrize(
    "patch, added",
    [
        ("conversation", "model.LM.conversation"),
        ("seeds", "api_models.TemplateAPI"),
        ("key", "api_models.TemplateAPI"),
        ("exit_status", "run.Run"),
    ],
)
def test_other_patches_apply(patch, added, patched):
    assert attrgetter(added)(patched(f"{patch}.patch"))


def test_a_tag_in_two_folders_has_the_tasks_of_both(patched, tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "task.yaml").write_text(f"task: of_{folder}\ntag: [shared, {folder}]")
    folders = [tmp_path / "a", tmp_path / "b"]
    assert TaskIndex.build(folders)["shared"].tags == {"of_b"}
    index = patched("tags.patch")._index.TaskIndex.build(folders)
    assert index["shared"].tags == {"of_a", "of_b"} and index["a"].tags == {"of_a"}


def test_an_installed_package_brings_folders_of_tasks(patched, tmp_path, monkeypatch):
    """One whose package is not there costs a warning. Built-in folders come last, and win."""
    info, folder = tmp_path / "mine-1.dist-info", tmp_path / "mine" / "tasks"
    for path in info, folder:
        path.mkdir(parents=True)
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    lines = "[lm_eval.tasks]\nabsent = absent.tasks\nmine = mine.tasks\n"
    info.joinpath("entry_points.txt").write_text(lines)
    monkeypatch.syspath_prepend(tmp_path)
    manager = patched("task_entry_points.patch").manager
    assert manager.plugin_paths()[0] == folder
    asked = []
    build = staticmethod(lambda paths: asked.extend(paths) or {})
    monkeypatch.setattr(manager.TaskIndex, "build", build)
    manager.TaskManager(include_path=tmp_path)
    assert asked[0] == folder and asked[-1] == tmp_path and asked[-2].name == "tasks"
    manager.TaskManager(include_defaults=False)
    assert len(asked) == len(set(asked))
