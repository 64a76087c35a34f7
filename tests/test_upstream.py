"""docs/upstream: each patch applies to what is installed, and mends what its row says: the first
assertion of a test is the fault, the second the same with the patch."""

import asyncio
import inspect
import json
import math
import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import lm_eval
import lm_eval.loggers
import lm_eval.utils
import pytest
from lm_eval._cli.harness import HarnessCLI
from lm_eval._cli.run import Run
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.models.api_models import TemplateAPI
from lm_eval.models.openai_completions import LocalCompletionsAPI
from lm_eval.tasks._index import TaskIndex


@pytest.fixture
def patched(root, tmp_path, monkeypatch):
    def apply(patch, source=Path(lm_eval.__file__).parents[1]):
        """The modules that a patch changes, loaded from a patched copy, by the ends of their
        names."""
        patch = root / "docs" / "upstream" / patch
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


def test_later_turns_see_the_model_s_own_answers(patched, tmp_path):
    assert "def conversation" not in Path(inspect.getfile(LM)).read_text()
    model = patched("conversation.patch").model
    asked = []

    class Counting(model.LM):
        loglikelihood = loglikelihood_rolling = None

        def generate_until(self, requests):
            asked.append([request.args[0] for request in requests])
            return [f"answer {len(asked)}" for _ in requests]

        def apply_chat_template(self, messages):
            return " ".join(f"{m['role']}: {m['content']}" for m in messages)

    settings = {"gen_kwargs": {"until": []}}
    plans = [
        ("q", {"turns": ["why?"], "system": "be brief", "chat": True, **settings}),
        ("q", {"turns": ["why?"], **settings}),
        ("alone", {"turns": [], **settings}),
    ]
    requests = [Instance("conversation", {}, plan, 0) for plan in plans]
    answers = [["answer 1", "answer 2"], ["answer 1", "answer 2"], ["answer 1"]]
    assert Counting().conversation(requests) == answers
    assert asked == [
        ["system: be brief user: q", "q", "alone"],
        ["system: be brief user: q assistant: answer 1 user: why?", "q\nanswer 1\nwhy?"],
    ]
    cached = model.CachingLM(Counting(), str(tmp_path / "cache.db"))
    assert cached.conversation(requests) == [["answer 3", "answer 4"]] * 2 + [["answer 3"]]
    assert cached.conversation(requests) == [["answer 3", "answer 4"]] * 2 + [["answer 3"]]
    assert len(asked) == 4


def seeds_of(base, **settings):
    """The seed and the prompts of each request to a server."""
    sent = []

    class Server(LocalCompletionsAPI):
        generate_until = base.generate_until
        _seed_repeats = getattr(base, "_seed_repeats", None)

        def model_call(self, messages, generate, gen_kwargs):
            payload = self._create_payload(messages, generate, gen_kwargs, self._seed)
            sent.append((payload["seed"], payload["prompt"]))
            return {"choices": [{"index": i, "text": "x"} for i in range(len(messages))]}

    server = Server(
        base_url="http://nowhere",
        model="m",
        tokenizer_backend=None,
        tokenized_requests=False,
        batch_size=2,
    )
    of = [Instance("generate_until", {}, (prompt, settings), 0) for prompt in ("aa", "b")]
    assert server.generate_until([request for request in of for _ in range(3)]) == ["x"] * 6
    return sorted((seed, tuple(sorted(prompts))) for seed, prompts in sent)


def test_each_repeat_of_a_sampled_answer_has_a_seed_of_its_own(patched):
    sampled = {"temperature": 1.0, "until": []}
    assert {seed for seed, _ in seeds_of(LocalCompletionsAPI, **sampled)} == {1234}
    new = patched("seeds.patch").api_models.TemplateAPI
    both = ("aa", "b")
    assert seeds_of(new, **sampled) == [(1234, both), (1235, both), (1236, both)]
    assert {seed for seed, _ in seeds_of(new, seed=7, **sampled)} == {7, 8, 9}
    assert {seed for seed, _ in seeds_of(new, temperature=0)} == {1234}


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


def test_the_converter_says_that_a_number_has_no_direction(root, patched, tmp_path, monkeypatch):
    """Every Eval Ever 0.3.0, of which `make test-all` gets a copy."""
    if not (root / ".eee" / "every_eval_ever").exists():
        pytest.skip(".eee is not there; `make test-all` makes it")
    monkeypatch.syspath_prepend(root / ".eee")
    from every_eval_ever.converters.lm_eval import adapter

    numbers = {"gap": (-6.0, 1.5), "lost": (math.nan, math.nan), "share": (12.5, math.nan)}
    row = {f"{name},none": value for name, (value, _) in numbers.items()}
    row |= {f"{name}_stderr,none": stderr for name, (_, stderr) in numbers.items()}
    file = tmp_path / "results_1.json"
    directions = {"gap": None, "lost": None, "share": False}
    content = {"results": {"t": row}, "higher_is_better": {"t": directions}}
    file.write_text(json.dumps({**content, "model_name": "org/m"}))

    def converted(module):
        (log,) = module.LMEvalAdapter().transform_from_file(file, {"source_organization_name": "x"})
        return {
            result.metric_config.metric_name: (
                result.metric_config.lower_is_better,
                result.metric_config.additional_details.get("polarity"),
                result.score_details.uncertainty
                and result.score_details.uncertainty.standard_error.value,
            )
            for result in log.evaluation_results
        }

    old = converted(adapter)
    assert old["gap"] == (False, "unknown", 1.5) and old["share"][:2] == (True, "unknown")
    assert math.isnan(old["lost"][2])  # which is not JSON, so all of the run is refused
    new = patched("every_eval_ever.patch", root / ".eee").adapter
    expected = {"gap": (False, "not_applicable", 1.5), "share": (True, None, None)}
    assert converted(new) == expected
