"""Every use of a private or changing part of lm_eval, but for those of models/."""

import atexit
import inspect
import logging
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import jinja2

from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

_plain_hook = sys.excepthook


def _hook(kind: Any, error: Any, traceback: Any) -> None:
    """Show a UsageError that ends `lm_eval` without its traceback."""
    if isinstance(error, UsageError):
        print(f"lm-eval-bias: {error}", file=sys.stderr)
    else:
        _plain_hook(kind, error, traceback)


sys.excepthook = _hook

TRIED = "0.4.13"
"""The version of lm_eval that this was tested with."""


def version() -> str:
    from importlib.metadata import version

    return version("lm_eval")


# ---- Templates


@cache
def environment() -> jinja2.Environment:
    from lm_eval.utils import env

    return env


# ---- Requests


def request(
    kind: str,
    doc: Any,
    arguments: tuple,
    index: int,
    task: str | None,
    doc_id: int | None,
    repeats: int = 1,
) -> Any:
    """An `Instance`."""
    from lm_eval.api.instance import Instance

    return Instance(kind, doc, arguments, index, metadata=(task, doc_id, repeats))


def derived(instance: Any, kind: str, arguments: tuple, index: int | None = None) -> Any:
    index = instance.idx if index is None else index
    return request(
        kind, instance.doc, arguments, index, instance.task_name, instance.doc_id, instance.repeats
    )


def without_bar(method: Callable[..., Any]) -> dict[str, bool]:
    """The argument that hides a model's progress bar."""
    known = "disable_tqdm" in inspect.signature(method).parameters
    return {"disable_tqdm": True} if known else {}


def add_request_type(name: str, method: Callable[..., Any]) -> None:
    """Add a method to every model and to the harness's cache, which `evaluate` calls with all
    requests of that type."""
    from lm_eval.api.model import LM, CachingLM

    for class_ in (LM, CachingLM):
        if not hasattr(class_, name):
            setattr(class_, name, method)


_own_caches: dict[str, tuple[type, ...]] = {}


def own_cache(class_: type, *names: str) -> None:
    """Let a model class itself use the harness's cache in these methods."""
    from lm_eval.api.model import CachingLM

    def method(name: str) -> property:
        usual = CachingLM.__dict__.get(name)

        def find(self: Any) -> Any:
            if isinstance(self.lm, _own_caches[name]):
                return getattr(self.lm, name)
            return self.__getattr__(name) if usual is None else usual.__get__(self)

        return property(find)

    for name in names:
        if name not in _own_caches:
            setattr(CachingLM, name, method(name))
        _own_caches[name] = (*_own_caches.get(name, ()), class_)


# ---- Tasks


def filter_names(task: Any) -> list[str]:
    return [pipe.name for pipe in getattr(task, "_filters", ())]


# ---- Results


def in_document_order(gathered: list, processes: int) -> list:
    """Values of all processes in the order of documents, which were dealt out in turns."""
    dealt = [i for first in range(processes) for i in range(first, len(gathered), processes)]
    return [value for _, value in sorted(zip(dealt, gathered, strict=True), key=itemgetter(0))]


def predicts_only(task: Any) -> bool:
    """Whether --predict_only replaced a task's metrics by `bypass`."""
    return "bypass" in getattr(task, "_metric_fn_list", {})


# ---- The end of a run


def saved_file(tracker: Any, task: str | None = None) -> Path:
    """Where an `EvaluationTracker` saved the results, or a task's samples."""
    date, path = getattr(tracker, "date_id", ""), Path(tracker.output_path)
    stem, folder = "results", path / str(tracker.general_config_tracker.model_name_sanitized)
    if path.suffix == ".json":
        stem, folder = path.stem, path.parent
    return folder / (f"{stem}_{date}.json" if task is None else f"samples_{task}_{date}.jsonl")


_failures: list[str] = []


def fail_at_end(sentence: str) -> None:
    """Let the command `lm_eval` write everything, and end with a sentence and status 1."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    program = spec.name if spec else Path(sys.argv[0]).stem if sys.argv else ""
    if program.replace("-", "_").split(".")[0] != "lm_eval":
        return
    if not _failures:
        atexit.register(_end)
    if sentence not in _failures:
        _failures.append(sentence)


def _end() -> None:
    for sentence in _failures:
        print(f"lm-eval-bias: {sentence}", file=sys.stderr)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


# ---- A model by itself


def brief(error: BaseException) -> str:
    """An error of other code in one line."""
    return textwrap.shorten(f"{type(error).__name__} {error}", 400, placeholder=" ...")


def server_seed(lm: Any) -> int | None:
    lm = getattr(lm, "lm", lm)  # the harness's cache is a model around the model
    if "seed" not in inspect.signature(getattr(lm, "_create_payload", len)).parameters:
        return None
    return int(getattr(lm, "_seed", 1234))


OUR_SEED = "lm_eval_bias_seed"
"""A key of `generation_kwargs` that `seeds_by_prompt` turns into the seed of a request."""


@contextmanager
def seeds_by_prompt(lm: Any, seed_of: Callable[[int, Any], int]) -> Iterator[None]:
    """Send `seed_of(OUR_SEED, prompt)` as the seed; the harness batches only equal
    `generation_kwargs`.
    """
    lm = getattr(lm, "lm", lm)
    create = lm._create_payload

    def with_seed(messages: Any, *arguments: Any, **more: Any) -> dict[str, Any]:
        settings = more.get("gen_kwargs") or {}
        if OUR_SEED in settings:
            settings["seed"] = seed_of(settings.pop(OUR_SEED), messages)
        return create(messages, *arguments, **more)

    lm._create_payload = with_seed
    try:
        yield
    finally:
        del lm._create_payload


class Writer:
    """A harness model that writes texts without a task. at_once: its batch size or concurrency."""

    def __init__(
        self,
        model: str,
        model_args: str,
        gen_kwargs: str,
        apply_chat_template: bool | None,
        batch_size: str | None,
        device: str | None,
    ) -> None:
        """Load a registered model type, or raise UsageError. apply_chat_template: None: if the
        model has a template or takes only messages.
        """
        import lm_eval.models  # noqa: F401  (fills the registry, and lets ours in)
        from lm_eval.api.registry import get_model
        from lm_eval.utils import simple_parse_args_string

        try:
            class_ = get_model(model)
        except (ValueError, KeyError) as error:
            raise UsageError(f"--model {model}: {error}") from error
        more = {"batch_size": batch_size, "device": device}
        more = {key: value for key, value in more.items() if value is not None}
        try:
            self.lm = class_.create_from_arg_string(model_args, more)
            # A stop string that never occurs: without any, some servers fail.
            usual = {
                "do_sample": True,
                "temperature": 1.0,
                "max_gen_toks": 512,
                "until": ["<|endoftext|>"],
            }
            self.gen_kwargs = usual | simple_parse_args_string(gen_kwargs)
        except Exception as error:
            raise UsageError(f"--model {model}: cannot be loaded: {brief(error)}") from error
        template = getattr(getattr(self.lm, "tokenizer", None), "chat_template", None)
        # Types that take only messages show it in their names alone: local-chat-completions.
        self.messages = apply_chat_template
        if apply_chat_template is None:
            self.messages = "chat" in model or bool(template)
        numbers = [
            getattr(self.lm, name, 1)
            for name in ("_concurrent", "_batch_size", "batch_size_per_gpu")
        ]
        self.at_once = max([1, *(n for n in numbers if isinstance(n, int))])

    def ask(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[str]:
        """The answer to each prompt. A local model seeds torch with the first seed."""
        seeded = server_seed(self.lm) is not None
        if not seeded:
            import torch

            torch.manual_seed(seeds[0])
        requests = []
        for i, (prompt, seed) in enumerate(zip(prompts, seeds, strict=True)):
            if self.messages:
                prompt = self.lm.apply_chat_template([{"role": "user", "content": prompt}])
            settings = {**self.gen_kwargs, **({"seed": seed} if seeded else {})}
            requests.append(request("generate_until", {}, (prompt, settings), i, None, i))
        return self.lm.generate_until(requests, **without_bar(self.lm.generate_until))


# ---- Task index and model types


def add_models(models_module: ModuleType, models: Mapping[str, str]) -> None:
    from lm_eval.api.registry import model_registry

    for name, target in models.items():
        if name not in model_registry:
            model_registry.register(name, target=target)


def add_tasks(index_module: ModuleType, folder: str) -> None:
    """Add a folder to the harness's task index; equal names of others win. If it cannot be done: a
    warning."""
    build = getattr(getattr(index_module, "TaskIndex", None), "build", None)
    kinds = getattr(index_module, "Kind", None)
    if build is None or kinds is None:
        _warn_of_index(folder)
        return
    defaults = Path(index_module.__file__ or "").parent

    def build_with_more(paths: Iterable[Any], **options: Any) -> dict[str, Any]:
        paths = list(paths)
        index = build(paths, **options)
        if not any(Path(path) == defaults for path in paths):  # include_defaults=False
            return index
        for name, entry in build([Path(folder)], **options).items():
            if name not in index:
                index[name] = entry
            elif entry.kind is kinds.TAG and index[name].kind is entry.kind:
                index[name].tags |= entry.tags
        return index

    index_module.TaskIndex.build = staticmethod(build_with_more)


def expect_index(tasks_module: ModuleType, folder: str) -> None:
    if find_spec("lm_eval.tasks._index") is None:
        _warn_of_index(folder)


def _warn_of_index(folder: str) -> None:
    print(
        f"lm-eval-bias: lm_eval {version()} builds its task index in another way than {TRIED}; "
        f"the bias tasks are found only with --include_path {folder}",
        file=sys.stderr,
    )
