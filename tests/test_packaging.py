"""The package as a stranger installs it, with and without the hook, in environments of their own.
Other tests are run on an editable installation.

The environments see the packages of the one that runs the tests, but none of its .pth files; only
this project is installed.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from lm_eval_bias import __version__
from tests.started import FEW_TASKS

pytestmark = pytest.mark.slow

OPTIONS = ["--no-deps", "--no-build-isolation", "--no-index"]
HOOK = ["lm_eval_bias_autoload." + ending for ending in ("pth", "py", "start")]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done


class Environment:
    def __init__(self, folder):
        venv.create(folder)
        self.folder = folder
        self.python = folder / "bin" / "python"
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        self.site = Path(self.run("-c", code).strip())
        packages = "\n".join(p for p in sys.path if p.endswith("site-packages"))
        (self.site / "packages_of_the_tests.pth").write_text(packages)
        self.before = self.files()

    def run(self, *arguments, **environment):
        return self.start(self.python, *arguments, **environment).stdout

    def pip(self, action, *arguments, **environment):
        pip = [sys.executable, "-m", "pip", "--python", self.python, action, "--quiet"]
        self.start(*pip, *arguments, **environment)

    def start(self, *command, **environment):
        env = os.environ | {"PATH": f"{self.python.parent}:{os.environ['PATH']}"}
        for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
            env.pop(name, None)
        return run(*command, cwd=self.folder, env=env | environment)

    def files(self):
        return {p for p in self.folder.rglob("*") if "__pycache__" not in p.parts}


@pytest.fixture(scope="module")
def tree(root, tmp_path_factory):
    """A copy of the files that git tracks or would track."""
    copy = tmp_path_factory.mktemp("tree")
    listed = "git ls-files -zco --exclude-standard | tar c --null --ignore-failed-read -T -"
    run("bash", "-c", f"{listed} | tar x -C {copy}", cwd=root)
    return copy


@pytest.fixture(scope="module")
def installed(tree, tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp("installed") / "env")
    environment.pip("install", *OPTIONS, str(tree))
    return environment


ON = f"""{FEW_TASKS}
from lm_eval import simple_evaluate
from lm_eval.api.registry import get_model
from lm_eval.tasks import TaskManager
t = TaskManager()
r = simple_evaluate('dummy', '', ['hbb'], limit=156, bootstrap_iters=0, task_manager=t)
print(r['results']['hbb']['instances,none'], get_model('hf-prefix').__module__, *t.all_tasks)
"""
WHERE = "import sys; print(sys.modules[get_model('hf-prefix').__module__].__file__)"
OFF = f"""{FEW_TASKS}
import sys
from lm_eval.tasks import TaskManager
import lm_eval.models
from lm_eval.api.registry import model_registry
print(*TaskManager().all_tasks, *model_registry)
print(*TaskManager(include_path=sys.argv[1], include_defaults=False).all_tasks)
"""
OURS = {"bistereo_nli", "bistereo_nli_generate", "hbb", "implicit_bias"}


def test_the_harness_knows_the_tasks_and_model_types(installed):
    path = installed.run(installed.folder / "bin" / "lm-eval-bias", "tasks", "--path").strip()
    instances, model, *names = installed.run("-c", ON).splitlines()[-1].split()
    assert (instances, model) == ("67.0", "lm_eval_bias.models.prefix") and set(names) > OURS
    off = installed.run("-c", OFF, path, LM_EVAL_BIAS_AUTOLOAD="0").splitlines()
    without, with_path = (set(line.split()) for line in off)
    assert not (OURS | {"hf-prefix"}) & without and with_path > OURS


SENTENCE = "version 9.9.9 runs, and version {}, which is installed, names the model types"


def test_of_two_copies_the_first_runs_names_its_version_and_has_each_task_once(installed, tree):
    """The first on the path is a source tree of another version."""
    other = shutil.copytree(tree, installed.folder / "other")
    (other / "lm_eval_bias" / "__init__.py").write_text(
        (tree / "lm_eval_bias" / "__init__.py").read_text().replace(__version__, "9.9.9")
    )
    command = installed.folder / "bin" / "lm-eval-bias"
    out = installed.run(command, "--version", PYTHONPATH=str(other))
    assert out.startswith("lm-eval-bias 9.9.9, ")
    done = installed.start(installed.python, "-c", ON + WHERE, PYTHONPATH=str(other))
    *_, printed, where = done.stdout.splitlines()
    names = printed.split()[2:]
    assert set(names) > OURS and len(names) == len(set(names))
    assert Path(where).is_relative_to(other)
    assert done.stderr.count(f"lm-eval-bias: {SENTENCE.format(__version__)}") == 1
    shutil.rmtree(other)


FILES = """
from importlib.metadata import entry_points
import lm_eval_bias.data.lexicons as lexicons, lm_eval_bias.metrics.halo
assert len(lexicons.table("hbb_concepts")) >= 200 and lexicons.lexicon("hbb")
for group, name, value in (
    ("filters", "bias_nli_label", "lm_eval_bias.answers.filters:NLILabel"),
    ("models", "hf-prefix", "lm_eval_bias.models:PrefixLM"),
    ("tasks", "lm_eval_bias", "lm_eval_bias.tasks"),
):
    (found,) = entry_points(group=f"lm_eval.{group}", name=name)
    assert found.value == value and (group == "models" or found.load())  # ON loads the model type
"""


def test_data_files_came_along_and_entry_points_are_declared(installed):
    installed.run("-c", FILES)


MODULES = """
import sys
ours = ("lm_eval", "lm_eval_bias", "torch", "transformers", "yaml", "importlib")
print(*(name for name in sys.modules if name.split(".")[0] in ours))
"""


def test_a_program_that_has_nothing_to_do_with_the_harness_gets_nothing_of_it(installed):
    on, off = (
        set(installed.run("-c", MODULES, LM_EVAL_BIAS_AUTOLOAD=value).split()) for value in "10"
    )
    assert on == off and "lm_eval_bias" in on
    assert "lm_eval" not in on and "torch" not in on


START = """
import os, pkgutil, sys
del os.environ["LM_EVAL_BIAS_AUTOLOAD"]
call = pkgutil.resolve_name(sys.argv[1].strip())
sys.modules.pop("lm_eval_bias")  # so that it is imported anew
call()
print([type(finder).__module__ for finder in sys.meta_path].count("lm_eval_bias"))
"""


def test_python_starts_without_a_word_when_only_the_hook_is_left(installed, tmp_path):
    alone = Environment(tmp_path / "env")
    for name in HOOK:
        shutil.copy(installed.site / name, alone.site)
    # what Python 3.15 calls in place of the .pth file's line
    start = "import pkgutil; pkgutil.resolve_name('lm_eval_bias_autoload:start')()"
    for left in HOOK[0], "lm_eval_bias/__pycache__":
        (alone.site / left).parent.mkdir(exist_ok=True)
        assert alone.start(alone.python, "-c", start).stderr == ""


def test_security_md_says_what_the_hook_is_and_how_to_see_it(root, installed):
    page = (root / "SECURITY.md").read_text()
    lines = {name: (installed.site / name).read_text() for name in HOOK}
    assert dict(re.findall(r"^`([\w.]+)`.*\n\n```\n((?:.+\n)+?)```", page, re.M)) == lines
    # Python 3.15 calls it, in place of the .pth file's line.
    assert installed.run("-c", START, lines[HOOK[2]], LM_EVAL_BIAS_AUTOLOAD="0") == "1\n"
    stated = re.findall(r"`(lm_eval_bias/[\w/]+\.py)` \((\d+) lines\)", page)
    assert stated == [(n, str((root / n).read_text().count("\n"))) for n, _ in stated] != []
    shown = re.search(r"```bash\n(.*\n.*\n)", page.split("## Verify it")[1])[1]
    out = installed.start("bash", "-c", shown).stdout
    assert out.startswith("".join(lines.values())) and out.count("<lm_eval_bias.") == 1


def test_uninstalling_leaves_no_file_behind_and_the_harness_as_it_was(tree, tmp_path):
    installed = Environment(tmp_path / "env")
    installed.pip("install", *OPTIONS, str(tree))
    installed.run("-c", MODULES)  # writes bytecode
    installed.pip("uninstall", "--yes", "lm-eval-bias")
    assert installed.files() == installed.before
    assert not list(installed.folder.rglob("*lm_eval_bias*"))
    done = installed.start(installed.python, "-c", OFF, tree / "tasks")
    alone, _ = done.stdout.splitlines()
    assert done.stderr == "" and not (OURS | {"hf-prefix"}) & set(alone.split())


@pytest.mark.model
def test_without_the_hook_the_lines_of_the_docs_run_tasks_and_model_types(
    root, tree, tmp_path, tiny
):
    bare = Environment(tmp_path / "env")
    bare.pip("install", *OPTIONS, str(tree), LM_EVAL_BIAS_NO_HOOK="1")
    assert "lm_eval" not in bare.run("-c", MODULES)
    (bare.folder / ".model").symlink_to(tiny)
    section = (root / "SECURITY.md").read_text().split("Without the hook")[1]
    tasks, model = re.search(r"```bash\n(lm_eval .*)\n(.*--model hf-prefix .*)\n", section).groups()
    out = bare.start("bash", "-c", f"python -m {tasks} & {model}; wait").stdout
    assert out.count("|bistereo_nli") == 2


BUILD = """
import sys
sys.path.insert(0, "build_backend")
import lm_eval_bias_build as backend
backend.build_wheel(OUT)
backend.build_sdist(OUT)
"""
# Other times, modes and order of files; a module that was removed after a former build.
COPY = """
umask 077
mkdir -p $1/build/lib/lm_eval_bias
touch $1/build/lib/lm_eval_bias/removed.py
find . -type f | sort -r | tar c -T - | tar x -m --no-same-permissions -C $1
"""


def built(tree, out, **options):
    """Wheel and sdist, name -> bytes, of the backend's hooks, called as `python -m build` does."""
    out.mkdir()
    run(sys.executable, "-c", BUILD.replace("OUT", repr(str(out))), cwd=tree, **options)
    return {path.name: path.read_bytes() for path in out.iterdir()}


def its_links_lead_to_the_source(page, root):
    """On the index's page there are no files beside the README."""
    source, version = (
        re.search(rf"^{field}(.*)", page, re.M)[1]
        for field in ("Project-URL: Source, ", "Version: ")
    )
    found = re.findall(r"\]\(([^)]+)\)|^\[.*\]: (\S+)|(?:src|href)=.([^'\" >]+)", page, re.M)
    links = [link for link in map("".join, found) if not link.startswith("#")]
    assert links and all(link.startswith("https://") for link in links), links
    ours = [link.partition("#")[0] for link in links if link.startswith(source)]
    files = {re.fullmatch(rf"{source}/(?:blob|raw)/v{version}/(.+)", link)[1] for link in ours}
    assert {"LICENSE"} < files and all((root / name).exists() for name in files)


def test_all_builds_of_a_tree_and_of_its_sdist_give_the_same_bytes(
    root, tree, tmp_path, monkeypatch
):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    run("bash", "-c", COPY, "-", tmp_path / "ä", cwd=tree)
    first = built(tree, tmp_path / "1")
    wheel, sdist = sorted((tmp_path / "1").iterdir())
    shutil.unpack_archive(sdist, tmp_path)
    unpacked = tmp_path / sdist.name.removesuffix(".tar.gz")
    assert (unpacked / "SECURITY.md").stat().st_mtime == 1700000000
    assert not (unpacked / "tests").exists()
    with zipfile.ZipFile(wheel) as file:
        (page,) = (file.read(n).decode() for n in file.namelist() if n.endswith("/METADATA"))
    assert (unpacked / "PKG-INFO").read_text() == page
    its_links_lead_to_the_source(page, root)
    monkeypatch.setenv("LC_ALL", "C")
    assert built(tmp_path / "ä", tmp_path / "2", umask=0o077) == first
    assert built(unpacked, tmp_path / "3") == first
    files = zipfile.ZipFile(wheel).infolist()
    assert {(f.compress_type, f.date_time) for f in files} == {
        (zipfile.ZIP_DEFLATED, (2023, 11, 14, 22, 13, 20))
    }
    names = {f.filename for f in files}
    assert not [name for name in names if name.startswith(("tests", "build_backend"))]
    # all that git tracks below the package is in the wheel, wherever it stands in the tree
    for folder, inside in (("lm_eval_bias", ""), ("metrics", "metrics"), ("tasks", "tasks")):
        paths = [path for path in (tree / folder).rglob("*") if path.is_file()]
        places = {str(Path("lm_eval_bias", inside, p.relative_to(tree / folder))) for p in paths}
        assert len(places) > 10 and not places - names
