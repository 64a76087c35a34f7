"""docs/upstream: each patch of the harness applies to what is installed and imports; of three the
first assertion of a test is the fault, the second the same with the patch."""

import asyncio
import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import lm_eval
import lm_eval.loggers
import lm_eval.utils
import pytest
from lm_eval._cli.harness import HarnessCLI
from lm_eval._cli.run import Run
from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.models.api_models import TemplateAPI
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
    [("conversation", "model.LM.conversation"), ("seeds", "api_models.TemplateAPI")],
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


@pytest.mark.parametrize("writable", [True, False])
def test_a_run_that_was_not_saved_ends_with_an_error(patched, tmp_path, monkeypatch, writable):
    results = {"results": {}, "configs": {}, "config": {"batch_sizes": []}, "samples": {}}
    monkeypatch.setattr(lm_eval, "simple_evaluate", lambda **_: dict(results))
    monkeypatch.setattr(lm_eval.utils, "make_table", lambda *_: "")
    monkeypatch.setattr(EvaluatorConfig, "process_tasks", lambda *_: None)
    (tmp_path / "file").write_text("no folder can be made in it")
    output = str(tmp_path / ("folder" if writable else "file/folder"))
    command = ["lm_eval", "run", "--tasks", "hbb", "--output_path", output]
    monkeypatch.setattr(sys, "argv", command)
    arguments = HarnessCLI().parse_args()
    Run._execute(arguments)  # ends as if all was well
    assert bool(list(tmp_path.glob("folder/**/*.json"))) == writable
    new = patched("exit_status.patch")
    monkeypatch.setattr(
        lm_eval.loggers, "EvaluationTracker", new.evaluation_tracker.EvaluationTracker
    )
    if writable:
        return new.run.Run._execute(arguments)
    with pytest.raises(SystemExit, match="Not everything was saved"):
        new.run.Run._execute(arguments)


def logged(base, caplog):
    """What a chat model logs of a call whose error holds the headers, as those of aiohttp do."""

    class Server(base):
        header = property(lambda self: {"Authorization": "Bearer secret"})
        parse_generations = parse_logprobs = None

        def _create_payload(self, messages, **_):
            return {}

    class Session:
        def post(self, *_, headers, **__):
            raise aiohttp.ClientResponseError(
                aiohttp.RequestInfo("http://nowhere", "POST", headers, "http://nowhere"), ()
            )

    server = Server(base_url="http://nowhere", model="m", tokenizer_backend=None)
    caplog.clear()
    with pytest.raises(aiohttp.ClientResponseError):
        asyncio.run(server.amodel_call(Session(), asyncio.Semaphore(), ["a"]))
    return caplog.text


def test_a_failed_call_does_not_write_the_key_into_the_log(patched, caplog):
    assert "secret" in logged(TemplateAPI, caplog)
    text = logged(patched("key.patch").api_models.TemplateAPI, caplog)
    assert "ClientResponseError: 0" in text and "secret" not in text
