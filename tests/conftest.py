"""What the tests share: the repository, the papers' data beside it if it is there, and the small
real model."""

import gc
import importlib.util
import json
import os
import sys
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock
from xdist.scheduler import LoadFileScheduling

from tests.cheap import ROOT, cheap_harness

gc.disable()  # until everything is imported
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# the models are tiny, and several processes run at once
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A slow moment of the machine is no failure.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# Of each the tests, not the file, are shared out between the workers.
SPREAD = ("simulations/test_coverage.py", "models/test_architectures.py")
# Of one worker, which has a server of forks that takes ten seconds to start; or answers to every
# measure.
FORKS = (
    "tests/test_end_to_end.py",
    "test_run.py",
    "test_early.py",
    "test_tutorials.py",
    "test_repeat.py",
)
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
    gc.enable()


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of the test's own, in which it works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
def cheap():
    """Runs that are started in other processes cluster all of StereoMap's resamples."""
    from lm_eval_bias.benchmarks.stereomap import ratings

    cheap_harness()
    ratings.DRAWS = 60


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
    return lambda name: (shared / "papers" / f"{name}.txt").read_text()


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
    return json.loads(authors("prompts.json").read_text())


@pytest.fixture(scope="session")
def tiny(model_folder, tmp_path_factory):
    """A random model, with the tokenizer of the small real one."""
    from torch import manual_seed
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("a model")
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    tokenizer.save_pretrained(folder)
    manual_seed(0)
    size = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    size |= {"num_attention_heads": 4, "vocab_size": len(tokenizer), "initializer_range": 0.2}
    LlamaForCausalLM(LlamaConfig(**size)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def model_folder():
    """The small real model in .model/, made by the command line if it is not there yet."""
    from lm_eval_bias import cli

    folder = ROOT / ".model"
    with FileLock(ROOT / ".model.lock"):  # the tests run in several processes
        assert cli.main(["model", str(folder)]) == 0
    return folder
