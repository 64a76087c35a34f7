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
    ("patch", "added"),
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
