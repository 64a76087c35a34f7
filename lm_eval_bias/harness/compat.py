"""Every reach into a private or moving part of lm_eval, each with what happens when it is gone.

Nothing of the harness is imported before one of these functions is called. The model types
(models/) have such places of their own.
"""

from __future__ import annotations

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
from pathlib import Path
from types import ModuleType
from typing import Any

import jinja2

from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

TRIED = "0.4.13 and 0.5.0.dev1"
"""The versions of lm_eval in which all of this was run."""


def version() -> str:
    """The version of lm_eval that is installed."""
    from importlib.metadata import version

    return version("lm_eval")


# ---- Templates


@cache
def environment() -> jinja2.Environment:
    """The jinja environment in which the harness reads prompts. If it is gone: a plain one of the
    same strictness, without its filters."""
    try:
        from lm_eval.utils import env
    except ImportError:
        pass
    else:
        return env
    try:  # 0.5
        from lm_eval.config.templates import _jinja_env
    except ImportError:
        logger.warning(
            "lm_eval %s keeps its jinja environment elsewhere; prompts are read without its filters.",
            version(),
        )
        return jinja2.Environment(
            loader=jinja2.BaseLoader(), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
        )
    return _jinja_env()


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
    """An `Instance`. Its fields have moved before; if they do again, this is where it fails, with
    the harness's own TypeError.

    0.4 takes where a request belongs from `metadata` alone; 0.5 has arguments for it, and still
      unpacks `metadata` into the same fields.
    """
    from lm_eval.api.instance import Instance

    belongs = {
        "metadata": (task, doc_id, repeats),
        "task_name": task,
        "doc_id": doc_id,
        "repeats": repeats,
    }
    return Instance(request_type=kind, doc=doc, arguments=arguments, idx=index, **belongs)


def place(task: Any, given: Mapping[str, Any]) -> tuple[str, int, int]:
    """Task, document and repeats of a request, from what `construct_requests` was given: all three
    as `metadata`, or in 0.5 `doc_id`."""
    if "doc_id" in given:
        return task.task_name, given["doc_id"], task.config.repeats
    return given["metadata"]


def add_request_type(name: str, method: Callable[..., Any]) -> None:
    """A method for every model of the harness, which `evaluate` calls with all requests of that
    type.

    The harness's cache looks answers up in its own `generate_until` and `loglikelihood`, so it gets
    the method too. If `evaluate` no longer calls `getattr(lm, request_type)`, such requests end in
    its error.
    """
    from lm_eval.api.model import LM, CachingLM

    for class_ in (LM, CachingLM):
        if not hasattr(class_, name):
            setattr(class_, name, method)


_own_caches: dict[str, tuple[type, ...]] = {}


def own_cache(class_: type, *names: str) -> None:
    """Let a kind of model look into the harness's cache by itself, for the methods of these names.

    The cache knows an answer by the arguments of its request, which is too little where the answer
    depends on more. It finds methods by `__getattr__`; if it has them as its own one day, this
    replaces them for such models alone.
    """
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


def task_base() -> type:
    """The class that tasks derive from, which reads a YAML. If it is gone: an error that names the
    versions that have it."""
    try:
        from lm_eval.api.task import ConfigurableTask
    except ImportError as error:
        raise ImportError(
            f"lm_eval {version()} has no ConfigurableTask; the tasks of lm-eval-bias run on {TRIED} ({error})"
        ) from error
    return ConfigurableTask


@cache
def asking(class_: type, output_type: str) -> type:
    """A task class, able to make requests of an output type.

    0.5 has a class for each output type where 0.4 has one for all: there, a subclass of both. If
      those classes are no longer to be found,
    the class stays as it is, and ends in the harness's error when it makes requests.
    """
    kinds = getattr(task_base(), "_registry", {})
    kind = kinds.get(output_type)
    if kind is None or issubclass(class_, tuple(kinds.values())):
        return class_
    return type(
        class_.__name__,
        (class_, kind),
        {"__module__": class_.__module__, "__qualname__": class_.__qualname__},
    )


def filter_names(task: Any) -> list[str]:
    """The names of a task's filters. If they are kept elsewhere: none, and an error in a filter
    ends the run as in any other task."""
    return [each.name for each in getattr(task, "scorers", None) or getattr(task, "_filters", ())]


def answers(task: Any, results: list) -> list:
    """The answers to a document's one request, of which a filter gives a list.

    0.4 gives `process_results` that list in a list of the document's requests, 0.5 (where tasks
      have `process_instances`) by itself. If a
    later one does otherwise, records cannot be made, which `MeasureTask` reports like any error in
    its measure.
    """
    return results if hasattr(task, "process_instances") else results[0]


# ---- Results


def one_value(task: Any, value: Any) -> Any:
    """A value of `process_results` that may be a list and is not to be taken apart: 0.5 takes a
    list for the values of several repeats."""
    return [value] if hasattr(task, "process_instances") and isinstance(value, list) else value


def own_numbers(task: Any) -> None:
    """Let a task's `aggregation` alone make numbers. In 0.5 the metrics of its scorers, the
    defaults of its output type, come first."""
    for scorer in getattr(task, "scorers", ()):
        scorer.metrics = []


def in_document_order(gathered: list, processes: int) -> list:
    """What `evaluate` gathered, one process after the other, in the order of the documents, which
    it had dealt out in turns.

    If it deals them out in another way one day, numbers that depend on the order of documents (by
    rounding alone, or by the draws of a permutation test) differ between one process and several.
    """
    hands, start = [], 0
    for process in range(processes):
        size = len(range(process, len(gathered), processes))
        hands.append(gathered[start : start + size])
        start += size
    return (
        [hand[i] for i in range(len(hands[0])) for hand in hands if i < len(hand)] if hands else []
    )


class Unshown(str):
    """The name of a metric that the harness gathers over all processes and writes into the samples,
    but does not show in its table.

    The harness leaves names that end in `_stderr` out of the table; in results, where it formats
    names, this one becomes such a name. If it formats them no more, the name is an ordinary row of
    the table.
    """

    def __format__(self, specification: str) -> str:
        return str.__format__(self, "") + "_stderr"


def predicts_only(task: Any) -> bool:
    """Whether --predict_only is set, which puts the metric `bypass` in place of a task's own. If it
    says so elsewhere: False, and the task's own numbers are computed and shown."""
    names = {
        metric.name for scorer in getattr(task, "scorers", ()) for metric in scorer.metrics or ()
    }
    return "bypass" in names or "bypass" in getattr(task, "_metric_fn_list", {})


_failures: list[str] = []


def fail_at_end(what: str) -> None:
    """Let the command `lm_eval` end with status 1, after it has written and shown everything.

    There is no documented way to say so: the status is set as the last thing before Python ends.
    Other programs are left alone.
    """
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    program = spec.name if spec else Path(sys.argv[0]).stem if sys.argv else ""
    if program.replace("-", "_").split(".")[0] != "lm_eval":
        return
    if not _failures:
        atexit.register(_end)
    if what not in _failures:
        _failures.append(what)


def _end() -> None:
    print(
        f"lm-eval-bias: no numbers for {', '.join(_failures)}; see the error above", file=sys.stderr
    )
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


# ---- A model by itself


def brief(error: BaseException) -> str:
    """An error of other people's code in one line."""
    return textwrap.shorten(f"{type(error).__name__} {error}", 400, placeholder=" ...")


def server_seed(lm: Any) -> int | None:
    """The seed that a server gets with each request whose `generation_kwargs` have none; None for a
    model that takes none.

    If requests are made in another way one day, all of them have the harness's seed again.
    """
    lm = getattr(lm, "lm", lm)  # the harness's cache is a model around the model
    if "seed" not in inspect.signature(getattr(lm, "_create_payload", len)).parameters:
        return None
    return int(getattr(lm, "_seed", 1234))


class Nth(int):
    """A seed in `generation_kwargs` that `seeds_by_prompt` turns into one of the prompt's own; a
    person's is a plain number."""


@contextmanager
def seeds_by_prompt(lm: Any, seed_of: Callable[[int, Any], int]) -> Iterator[None]:
    """Let a server get with each `Nth` seed the one that `seed_of(seed, prompt)` says, prompt being
    what the request's body has.

    It cannot stand in the request: the harness sends those side by side that have equal
    `generation_kwargs`, and asks one after the other where each has a seed of its own. If bodies
    are made in another way one day, all prompts have the seeds that stand in the requests.
    """
    lm = getattr(lm, "lm", lm)
    create = lm._create_payload

    def with_seed(*arguments: Any, **more: Any) -> dict[str, Any]:
        payload = create(*arguments, **more)
        if isinstance(payload.get("seed"), Nth):
            payload["seed"] = seed_of(
                int(payload["seed"]), payload.get("messages", payload.get("prompt"))
            )
        return payload

    lm._create_payload = with_seed
    try:
        yield
    finally:
        del lm._create_payload


class Writer:
    """A model of the harness that is asked texts, without a task.

    `at_once` is how many prompts it takes side by side: its requests under way, or its batch.
    """

    def __init__(
        self,
        model: str,
        model_args: str = "",
        gen_kwargs: str = "",
        apply_chat_template: bool | None = None,
        batch_size: str | None = None,
        device: str | None = None,
    ) -> None:
        """Load a model type of the registry. apply_chat_template: None is where the model has a
        template, or takes nothing but messages.

        Raises UsageError for an unknown model type and for what its class refuses. If the registry
        or `create_from_arg_string` is gone, the error names them.
        """
        import lm_eval.models  # noqa: F401  (fills the registry, and lets ours in)
        from lm_eval.api.registry import get_model
        from lm_eval.utils import simple_parse_args_string

        try:
            class_ = get_model(model)
        except (ValueError, KeyError) as error:
            raise UsageError(f"--model {model}: {error}") from error
        try:
            more = {"batch_size": batch_size, "device": device}
            self.lm = class_.create_from_arg_string(
                model_args, {k: v for k, v in more.items() if v is not None}
            )
            # A stop string that no answer holds: without any, some servers fail.
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
        # The types that take nothing but messages say so in their names alone:
        # local-chat-completions, anthropic-chat, litellm-chat.
        self.messages = (
            bool("chat" in model or template)
            if apply_chat_template is None
            else apply_chat_template
        )
        numbers = [
            getattr(self.lm, name, 1)
            for name in ("_concurrent", "_batch_size", "batch_size_per_gpu")
        ]
        self.at_once = max([1, *(n for n in numbers if isinstance(n, int))])

    def ask(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[str]:
        """The answer to each prompt. A server that takes seeds gets each its own; elsewhere the
        first sets the random numbers of torch."""
        seeded = server_seed(self.lm) is not None
        if not seeded:
            import torch

            torch.manual_seed(seeds[0])
        asked = []
        for i, (prompt, seed) in enumerate(zip(prompts, seeds, strict=True)):
            text = (
                self.lm.apply_chat_template([{"role": "user", "content": prompt}])
                if self.messages
                else prompt
            )
            given = {**self.gen_kwargs, **({"seed": seed} if seeded else {})}
            asked.append(request("generate_until", {}, (text, given), i, None, i))
        # A bar for each round would stand in the way of the caller's own.
        quiet = (
            {"disable_tqdm": True}
            if "disable_tqdm" in inspect.signature(self.lm.generate_until).parameters
            else {}
        )
        return self.lm.generate_until(asked, **quiet)


# ---- Task index and model types


def add_models(models_module: ModuleType, models: Mapping[str, str]) -> None:
    """Register model types, name -> module:class, beside those of `lm_eval.models`. If the registry
    is gone, they are not there by name."""
    from lm_eval.api.registry import model_registry

    for name, target in models.items():
        if name not in model_registry:
            model_registry.register(name, target=target)


def add_tasks(index_module: ModuleType, folder: str) -> None:
    """Let an index of the harness's own tasks hold those of a folder too, by wrapping
    `TaskIndex.build` of `lm_eval.tasks._index`.

    Tasks that the harness finds by itself, and those of `--include_path` that bear the same names,
    stay as they are. If the index is built in another way, a line says so and names
    `--include_path`.
    """
    build = getattr(getattr(index_module, "TaskIndex", None), "build", None)
    kinds = getattr(index_module, "Kind", None)
    if build is None or kinds is None:
        _tell_of_index(folder)
        return
    defaults = Path(index_module.__file__ or "").parent

    def build_with_more(paths: Iterable[Any], **options: Any) -> dict[str, Any]:
        paths = list(paths)
        found = build(paths, **options)
        if not any(Path(p) == defaults for p in paths):  # include_defaults=False
            return found
        for name, entry in build([Path(folder)], **options).items():
            if name not in found:
                found[name] = entry
            elif entry.kind is kinds.TAG and found[name].kind is entry.kind:
                found[name].tags |= entry.tags
        return found

    index_module.TaskIndex.build = staticmethod(build_with_more)


def expect_index(tasks_module: ModuleType, folder: str) -> None:
    """The same line where `lm_eval.tasks` has been imported and there is no module `_index` in it."""
    if find_spec("lm_eval.tasks._index") is None:
        _tell_of_index(folder)


def _tell_of_index(folder: str) -> None:
    print(
        f"lm-eval-bias: lm_eval {version()} builds its task index in another way than {TRIED}; "
        f"the bias tasks are found only with --include_path {folder}",
        file=sys.stderr,
    )
