"""What the tests share: the repository, the papers' data beside it if it is there, and the small
real model."""

import gc
import importlib.util
import json
import os
import sys
from copy import copy
from functools import cache, wraps
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock
from xdist.scheduler import LoadFileScheduling

from lm_eval_bias import catalogue

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# the models are tiny, and several processes run at once
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A slow moment of the machine is no failure.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parents[1]


# Of each the tests, not the file, are shared out between the workers.
SPREAD = ("simulations/test_coverage.py", "models/test_architectures.py")
# Of one worker, which has a server of forks that takes ten seconds to start; or answers to every
# measure.
FORKS = ("tests/test_end_to_end.py", "test_run.py", "test_masked_in_harness.py")
MEASURES = ("tests/test_measure.py", "test_each_n.py")


def pytest_collection_modifyitems(items):
    """What takes longest first, and what is spread last: so both workers end together."""
    first = {item.path for item in items if item.get_closest_marker("model")}
    items.sort(key=lambda item: (item.path.as_posix().endswith(SPREAD), item.path not in first))


def pytest_xdist_make_scheduler(config, log):
    return Shares(config, log)


class Shares(LoadFileScheduling):
    """What goes to one worker together."""

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        together = (files[0] for files in (FORKS, MEASURES) if file.endswith(files))
        return nodeid if file.endswith(SPREAD) else next(together, file)


def pytest_collection_finish():
    """No collection of garbage looks at the million objects of modules and tests again."""
    gc.freeze()


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture
def command(capsys):
    """Runs `lm-eval-bias ARGUMENTS` in this process: status, standard output, standard error."""
    from lm_eval_bias import cli

    def run(*arguments):
        try:
            status = cli.main([str(argument) for argument in arguments])
        except SystemExit as error:  # argparse
            status = error.code
        return status, *capsys.readouterr()

    return run


@pytest.fixture(scope="session", autouse=True)
def cheap_harness():
    """Do once what the harness and our tasks would do in every run: ask pip and git for the
    environment, read our YAML files, compile a template, and make the documents of a task's own
    items. And wait for no disk."""
    os.fsync = lambda file: None
    every, once = catalogue.read, cache(catalogue.read)
    catalogue.read = lambda path: (once if path.is_relative_to(ROOT) else every)(path)
    catalogue.read.cache_clear = every.cache_clear
    if "lm_eval" in sys.modules:
        from lm_eval import evaluator, utils
        from lm_eval.tasks import _index

        evaluator.get_git_commit_hash = lambda: "not asked in tests"
        utils.env.from_string = cache(utils.env.from_string)
        if importlib.util.find_spec("torch"):  # make test-slim
            from torch.utils import collect_env

            collect_env.get_pretty_env_info = lambda: "not asked in tests"
        read, ours = _index.load_yaml, cache(_index.load_yaml)
        _index.load_yaml = lambda path, **options: (
            ours if Path(path).is_relative_to(ROOT) else read
        )(path, **options)
    if "lm_eval_bias.harness.dataset" in sys.modules:
        from lm_eval_bias.harness.dataset import CustomDataset

        make, made = CustomDataset.__call__, {}

        def call(self, **metadata):
            if {"items", "groups", "data"} & metadata.keys():  # files may change
                return make(self, **metadata)
            documents, data = self.documents, os.environ.get("LM_EVAL_BIAS_DATA")

            @wraps(documents)
            def remembered(**options):
                key = (documents, repr(sorted(options.items())), data)
                if key not in made:
                    made[key] = documents(**options)
                return made[key]

            self = copy(self)
            self.documents = remembered
            return make(self, **metadata)

        CustomDataset.__call__ = call


@pytest.fixture(scope="session")
def benchmark_named():
    """A script of simulations/ as a module: tests repeat small what it does."""
    folder = ROOT / "simulations"

    def load(name):
        if str(folder) not in sys.path:  # where outcome.py is
            sys.path.append(str(folder))
        spec = importlib.util.spec_from_file_location(Path(name).name, folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def shared():
    """The papers and the authors' data, which are not part of this repository."""
    folder = ROOT.parent / "shared"
    if not (folder / "papers").is_dir():
        pytest.skip("the papers and the authors' data are not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def paper_text(shared):
    """The text of a paper by its name."""
    return lambda name: (shared / "papers" / f"{name}.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def authors(shared):
    """The path of a file of the authors; where it is missing the test skips."""

    def path(name):
        if not (found := shared / "official" / name).is_file():
            pytest.skip(f"the authors' {name} is not beside this checkout")
        return found

    return path


@pytest.fixture(scope="session")
def prompts(authors):
    """How the authors' programs ask."""
    return json.loads(authors("prompts.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def model_folder():
    """The small real model in .model/, made by the command line if it is not there yet."""
    from lm_eval_bias import cli

    folder = ROOT / ".model"
    with FileLock(ROOT / ".model.lock"):  # the tests run in several processes
        assert cli.main(["model", str(folder)]) == 0
    return folder
