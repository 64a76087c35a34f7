"""The package as a stranger installs it: from a wheel and from `pip install -e .`, in environments
of their own.

The environments see the packages of the one that runs the tests, but none of its .pth files; only
this project is installed.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

INSTALL = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-deps",
    "--no-build-isolation",
    "--no-index",
    "--disable-pip-version-check",
]


class Environment:
    def __init__(self, folder: Path):
        venv.create(folder, with_pip=True)
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.site = Path(
            self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        )
        (self.site / "packages_of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
        # an old one, with the virtual environments of Python 3.10 and 3.11
        if (self.site / "setuptools").exists():
            self.run("-m", "pip", "uninstall", "--quiet", "--yes", "setuptools")
        self.before = self.files()

    def run(self, *arguments, **environment):
        env = {
            k: v
            for k, v in os.environ.items()
            if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
        } | environment
        done = subprocess.run(
            [self.python, *arguments], capture_output=True, text=True, cwd=self.folder, env=env
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def files(self):
        return {p for p in self.folder.rglob("*") if "__pycache__" not in p.parts}


@pytest.fixture(scope="module")
def tree(root, tmp_path_factory):
    """A copy of the files that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    copy = tmp_path_factory.mktemp("tree")
    for name in listed.stdout.splitlines():
        if (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, copy / name)
    return copy


@pytest.fixture(scope="module", params=["wheel", "editable"])
def installed(request, tree, tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp(request.param) / "env")
    environment.run(*INSTALL, *(["-e"] if request.param == "editable" else []), str(tree))
    return environment


def index(include_path=None):
    """Prints the names in the index that `lm_eval` makes at its start."""
    code = (
        "from lm_eval.tasks import TaskManager; import lm_eval.models; from lm_eval.api.registry import model_registry as models\n"
        f"print(*TaskManager(include_path={include_path!r}).all_tasks, *models)"
    )
    return ["-c", code]


OURS = {"bistereo_nli", "bistereo_nli_generate", "hbb", "implicit_bias"}
SIMPLE_EVALUATE = (
    "from lm_eval import simple_evaluate\n"
    "r = simple_evaluate(model='dummy', model_args='', tasks=['hbb'], limit=116, bootstrap_iters=0)\n"
    "from lm_eval.api.registry import get_model\n"
    "print(r['results']['hbb']['instances,none'], get_model('hf-prefix').__module__)"
)


@pytest.fixture(scope="module")
def printed(installed):
    """What four programs print. Each indexes the harness's thousands of files for ten seconds, so
    they run side by side."""
    command = [installed.folder / "bin" / "lm-eval-bias", "tasks", "--path"]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    off = {"LM_EVAL_BIAS_AUTOLOAD": "0"}
    programs = {
        "ls": (["-m", "lm_eval", "ls", "tasks"], {}),
        "simple_evaluate": (["-c", SIMPLE_EVALUATE], {}),
        "off": (index(), off),
        "off, include_path": (index(path), off),
    }
    with ThreadPoolExecutor(2) as pool:
        texts = pool.map(
            lambda program: installed.run(*program[0], **program[1]), programs.values()
        )
        return dict(zip(programs, texts, strict=True))


def test_lm_eval_ls_lists_the_tasks(printed):
    for name in OURS:
        assert re.search(rf"^\|\s*{name}\s*\|", printed["ls"], re.M), name


def test_with_autoload_off_the_include_path_does_it(printed):
    assert not (OURS | {"hf-prefix"}) & set(printed["off"].split())
    assert set(printed["off, include_path"].split()) > OURS


def test_simple_evaluate_knows_the_tasks(printed):
    assert printed["simple_evaluate"].splitlines()[-1].split()[0] == "67.0"


def test_the_harness_knows_the_model_types(printed):
    assert printed["simple_evaluate"].split()[-1] == "lm_eval_bias.models.prefix"


def test_data_files_came_along(installed):
    code = (
        "import lm_eval_bias.data.lexicons as i, lm_eval_bias.tasks as t, lm_eval_bias.metrics.halo as h, os\n"
        "print(len(i.table('hbb_concepts')) >= 200, bool(i.lexicon('hbb')), os.path.exists(os.path.join(t.__path__[0], 'hbb', 'README.md')), h.__name__)"
    )
    assert installed.run("-c", code).split() == [
        "True",
        "True",
        "True",
        "lm_eval_bias.metrics.halo",
    ]


def test_a_program_that_has_nothing_to_do_with_the_harness_gets_nothing_of_it(installed):
    code = "import json, sys; print(sorted(m for m in sys.modules if m.split('.')[0] in ('lm_eval', 'lm_eval_bias', 'torch', 'transformers', 'yaml', 'importlib')))"
    assert "'lm_eval_bias'" in installed.run("-c", code)
    with_it, without = (
        set(installed.run("-c", code, LM_EVAL_BIAS_AUTOLOAD=x).split("'")[1::2]) for x in ("1", "0")
    )
    assert with_it == without
    assert "lm_eval" not in with_it and "torch" not in with_it


def test_starting_python_costs_less_than_a_millisecond(installed):
    """What Python itself reports for the import at its start. The least of thirty starts is the
    cost; the rest is what else the machine does."""
    times = []
    for _ in range(31):
        done = subprocess.run([installed.python, "-X", "importtime", "-c", "pass"], capture_output=True, text=True, cwd=installed.folder,
                              env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"})  # fmt: skip
        times.append(int(re.search(r"(\d+) \|\s+lm_eval_bias$", done.stderr, re.M).group(1)))
    assert min(times) < 1000, f"microseconds: least {min(times)}, median {statistics.median(times)}"


def test_the_entry_points_are_declared(installed):
    code = (
        "from importlib.metadata import entry_points as e\n"
        "print([p.load().__name__ for p in e(group='lm_eval.filters') if p.name == 'nli_label'])\n"
        "print([p.value for p in e(group='lm_eval.models') if p.name == 'hf-prefix'])\n"  # loaded above, as the harness loads it
        "print([p.load().__name__ for p in e(group='lm_eval.tasks') if p.name == 'lm_eval_bias'])"  # a name mapped to a package
    )
    printed = installed.run("-c", code).splitlines()
    assert printed == [
        "['NLILabel']",
        "['lm_eval_bias.models.prefix:PrefixLM']",
        "['lm_eval_bias.tasks']",
    ]


def test_uninstalling_leaves_no_file_behind(installed):
    """Last in the module: after it the package is gone."""
    installed.run("-m", "pip", "uninstall", "--quiet", "--yes", "lm-eval-bias")
    assert installed.files() == installed.before
    assert not [p for p in installed.folder.rglob("*lm_eval_bias*")]
    assert (
        installed.run(
            "-c", "import sys; print([m for m in sys.modules if m.startswith('lm_eval')])"
        ).strip()
        == "[]"
    )


def test_an_sdist_builds_the_same_wheel(tree, tmp_path):
    """python -m build would do this; here without it: the backend's hooks, called as a frontend
    calls them."""
    code = (
        "import sys, os; sys.path.insert(0, 'build_backend'); import lm_eval_bias_build as b, tarfile\n"
        f"out = {str(tmp_path)!r}\n"
        "name = b.build_sdist(out); tarfile.open(os.path.join(out, name)).extractall(out)\n"
        "os.chdir(os.path.join(out, name.removesuffix('.tar.gz'))); print(b.build_wheel(out))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    import zipfile

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
