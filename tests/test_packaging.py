"""The package as a stranger installs it: from a wheel and from `pip install -e .`, in environments
of their own.

The environments see the packages of the one that runs the tests, but none of its .pth files; only
this project is installed.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

OPTIONS = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]


class Environment:
    def __init__(self, folder: Path):
        venv.create(folder)
        self.folder = folder
        self.python = folder / "bin" / "python"
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        site = Path(self.run("-c", code).strip())
        (site / "packages_of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.before = self.files()

    def run(self, *arguments, **environment):
        env = os.environ | environment
        for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
            env.pop(name, None)
        command = [self.python, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def pip(self, *arguments):
        command = [sys.executable, "-m", "pip", "--python", str(self.python), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        assert done.returncode == 0, done.stderr

    def files(self):
        return {p for p in self.folder.rglob("*") if "__pycache__" not in p.parts}


@pytest.fixture(scope="module")
def tree(root, tmp_path_factory):
    """A copy of the files that git tracks or would track."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    copy = tmp_path_factory.mktemp("tree")
    for name in listed.stdout.splitlines():
        if (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, copy / name)
    return copy


@pytest.fixture(scope="module", params=["wheel", "editable"])
def installed(request, tree, tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp(request.param) / "env")
    environment.pip("install", *OPTIONS, *["-e"] * (request.param == "editable"), str(tree))
    return environment


ON = """
from lm_eval import simple_evaluate
from lm_eval.api.registry import get_model
from lm_eval.tasks import TaskManager
t = TaskManager()
r = simple_evaluate('dummy', '', ['hbb'], limit=116, bootstrap_iters=0, task_manager=t)
print(r['results']['hbb']['instances,none'], get_model('hf-prefix').__module__, *t.all_tasks)
"""
OFF = """
import sys
from lm_eval.tasks import TaskManager
import lm_eval.models
from lm_eval.api.registry import model_registry
print(*TaskManager().all_tasks, *model_registry)
print(*TaskManager(include_path=sys.argv[1], include_defaults=False).all_tasks)
"""
OURS = {"bistereo_nli", "bistereo_nli_generate", "hbb", "implicit_bias"}


def test_the_harness_knows_the_tasks_and_model_types(installed):
    """Each of the programs indexes the harness's thousands of files for ten seconds."""
    path = installed.run(installed.folder / "bin" / "lm-eval-bias", "tasks", "--path").strip()
    with ThreadPoolExecutor(2) as pool:
        on = pool.submit(installed.run, "-c", ON)
        off = pool.submit(installed.run, "-c", OFF, path, LM_EVAL_BIAS_AUTOLOAD="0")
    instances, model, *names = on.result().splitlines()[-1].split()
    assert (instances, model) == ("67.0", "lm_eval_bias.models.prefix") and set(names) > OURS
    without, with_path = map(set, map(str.split, off.result().splitlines()))
    assert not (OURS | {"hf-prefix"}) & without and with_path > OURS


FILES = """
import os
import lm_eval_bias.data.lexicons as lexicons, lm_eval_bias.metrics.halo, lm_eval_bias.tasks
assert len(lexicons.table("hbb_concepts")) >= 200 and lexicons.lexicon("hbb")
assert os.path.exists(os.path.join(lm_eval_bias.tasks.__path__[0], "hbb", "README.md"))
"""


def test_data_files_came_along(installed):
    installed.run("-c", FILES)


MODULES = """
import json, sys
ours = ("lm_eval", "lm_eval_bias", "torch", "transformers", "yaml", "importlib")
print(*(name for name in sys.modules if name.split(".")[0] in ours))
"""


def test_a_program_that_has_nothing_to_do_with_the_harness_gets_nothing_of_it(installed):
    on, off = (
        set(installed.run("-c", MODULES, LM_EVAL_BIAS_AUTOLOAD=value).split()) for value in "10"
    )
    assert on == off and "lm_eval_bias" in on
    assert "lm_eval" not in on and "torch" not in on


ENTRY_POINTS = """
from importlib.metadata import entry_points as e
print([p.load().__name__ for p in e(group="lm_eval.filters") if p.name == "nli_label"])
# the test above loads it as the harness does
print([p.value for p in e(group="lm_eval.models") if p.name == "hf-prefix"])
# a name mapped to a package
print([p.load().__name__ for p in e(group="lm_eval.tasks") if p.name == "lm_eval_bias"])
"""


def test_the_entry_points_are_declared(installed):
    assert installed.run("-c", ENTRY_POINTS).splitlines() == [
        "['NLILabel']",
        "['lm_eval_bias.models.prefix:PrefixLM']",
        "['lm_eval_bias.tasks']",
    ]


def test_uninstalling_leaves_no_file_behind(installed):
    """Last in the module: after it the package is gone."""
    installed.pip("uninstall", "--quiet", "--yes", "lm-eval-bias")
    assert installed.files() == installed.before
    assert not list(installed.folder.rglob("*lm_eval_bias*"))
    code = "import sys; print([m for m in sys.modules if m.startswith('lm_eval')])"
    assert installed.run("-c", code).strip() == "[]"


SDIST = """
import os, sys, tarfile
sys.path.insert(0, "build_backend")
import lm_eval_bias_build as backend
out = OUT
name = backend.build_sdist(out)
tarfile.open(os.path.join(out, name)).extractall(out)
os.chdir(os.path.join(out, name.removesuffix(".tar.gz")))
print(backend.build_wheel(out))
"""


def test_an_sdist_builds_the_same_wheel(tree, tmp_path):
    """python -m build would do this; here without it: the backend's hooks, called as a frontend
    calls them."""
    code = SDIST.replace("OUT", repr(str(tmp_path)))
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = set(zipfile.ZipFile(tmp_path / done.stdout.splitlines()[-1]).namelist())
    assert {
        "lm_eval_bias_autoload.pth",
        "lm_eval_bias/tasks/hbb/hbb.yaml",
        "lm_eval_bias/benchmarks/hbb/items/hbb_concepts.tsv",
        "lm_eval_bias/metrics/halo.py",
        "lm_eval_bias/benchmarks/hbb/pipeline.yaml",
        "lm_eval_bias/authoring/review.html",
        "lm_eval_bias/authoring/review.css",
        "lm_eval_bias/authoring/review.js",
    } <= names
    assert not [n for n in names if n.startswith(("tests", "build_backend"))]
