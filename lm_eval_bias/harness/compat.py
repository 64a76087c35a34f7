"""Every use of a private or changing part of lm_eval, but for those of models/."""

import atexit
import inspect
import logging
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from lm_eval_bias.commands import tell
from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

_plain_hook = sys.excepthook


def _hook(kind: Any, error: Any, traceback: Any) -> None:
    """Show a UsageError that ends `lm_eval` without its traceback."""
    if isinstance(error, UsageError):
        tell(error)
    else:
        _plain_hook(kind, error, traceback)


sys.excepthook = _hook

# ---- Requests


def request(kind: str, doc: Any, arguments: tuple, index: int, *metadata: Any) -> Any:
    """An `Instance`. metadata: the task, the document's number, and the repeats, if not 1."""
    from lm_eval.api.instance import Instance

    return Instance(kind, doc, arguments, index, metadata=(*metadata, 1)[:3])


def derived(instance: Any, kind: str, arguments: tuple, index: int = 0) -> Any:
    return request(kind, instance.doc, arguments, index, *instance.metadata)


def add_request_type(name: str, method: Callable[..., Any]) -> None:
    """Add a method to every model and to the harness's cache, which `evaluate` calls with all
    requests of that type."""
    from lm_eval.api.model import LM, CachingLM

    setattr(LM, name, method)
    setattr(CachingLM, name, method)


@cache
def survive_full_caches() -> None:
    """Let every run go on whose cache cannot be written. The methods in a model's `OWN_CACHE` use
    the cache themselves."""
    from lm_eval.api.model import CachingLM

    usual = CachingLM.__getattr__

    def find(self: Any, name: str) -> Any:
        survive_full(self.dbdict)
        if name in getattr(self.lm, "OWN_CACHE", ()):
            return getattr(self.lm, name)
        return usual(self, name)

    setattr(CachingLM, "__getattr__", find)  # noqa: B010 (for mypy)


def survive_full(cache: Any) -> None:
    """Let a `SqliteDict` that cannot be written be read alone, and end with status 1."""
    survive_full_caches()
    connection = cache.conn
    check, execute = connection.check_raise_error, connection.execute
    if getattr(check, "__module__", "") == __name__:
        return

    def checked() -> None:
        try:
            check()
        except Exception as error:  # of sqlite
            connection.execute = lambda what, given=None, to=None: to and execute(what, given, to)
            sentence = (
                f"the cache {cache.filename} takes no more answers ({error}): another run would "
                "ask anew; numbers and files are as without --use_cache"
            )
            logger.error("lm-eval-bias: %s", sentence)
            fail_at_end(sentence)

    connection.check_raise_error = checked
    logging.getLogger("sqlitedict").setLevel(logging.CRITICAL)  # 20 lines for each failure


# ---- Results


def in_document_order(gathered: list, processes: int) -> list:
    """Values of all processes in the order of documents, which were dealt out in turns."""
    dealt = [i for first in range(processes) for i in range(first, len(gathered), processes)]
    return [value for _, value in sorted(zip(dealt, gathered, strict=True), key=itemgetter(0))]


# ---- The end of a run


def saved_file(tracker: Any, task: str | None) -> Path:
    """Where an `EvaluationTracker` saved the results, or a task's samples."""
    date, path = getattr(tracker, "date_id", ""), Path(tracker.output_path)
    stem, folder = "results", path / str(tracker.general_config_tracker.model_name_sanitized)
    if path.suffix == ".json":
        stem, folder = path.stem, path.parent
    return folder / (f"{stem}_{date}.json" if task is None else f"samples_{task}_{date}.jsonl")


OUT_OF_BUDGET = 75
"""The exit status of a run that is whole but for what its budget left no room for."""
failures: dict[str, int] = {}
"""Sentence -> status, of what went wrong in this process."""


def is_command() -> bool:
    """Whether this process is the command `lm_eval`."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.stem == "__main__" else program.stem
    return name.replace("-", "_") == "lm_eval"


def fail_at_end(sentence: str, status: int = 1) -> None:
    """Let the command `lm_eval` write everything, and end with a sentence and a status: of several
    the least."""
    # of several processes the first: a launcher would end all
    if os.environ.get("RANK", "0") != "0":
        return
    if is_command() and not failures:
        atexit.register(_end)
    failures[sentence] = status


def _end() -> None:
    for sentence in failures:
        print(f"lm-eval-bias: {sentence}", file=sys.stderr)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(min(failures.values()))


# ---- A model by itself


def brief(error: BaseException) -> str:
    """An error of other code in one line."""
    return textwrap.shorten(f"{type(error).__name__} {error}", 400, placeholder=" ...")


def kind_of(lm: Any) -> str:
    """The name of a harness model's type, or of its class."""
    from lm_eval.api.registry import model_registry

    own = type(lm), f"{type(lm).__module__}:{type(lm).__name__}"
    names = [name for name, target in model_registry.items() if target in own]
    return min(names, key=len, default=type(lm).__name__)


def server_seed(lm: Any) -> int | None:
    lm = getattr(lm, "lm", lm)  # the harness's cache is a model around the model
    if "seed" not in inspect.signature(getattr(lm, "_create_payload", len)).parameters:
        return None
    return int(getattr(lm, "_seed", 1234))


class Writer:
    """A harness model that writes texts without a task. at_once: its batch size or concurrency."""

    def __init__(
        self,
        model: str,
        model_args: str,
        gen_kwargs: str,
        apply_chat_template: bool | None,
        **more: str | None,
    ):
        """Load a registered model type, or raise UsageError. apply_chat_template: None: if the
        model has a template or takes only messages. more: batch_size, device.
        """
        import lm_eval.tasks  # noqa: F401  (lets our model types in)
        from lm_eval.api.registry import get_model
        from lm_eval.utils import simple_parse_args_string

        # A stop string that never occurs: without any, some servers fail.
        until = {"until": ["<|endoftext|>"]}
        usual = {"do_sample": True, "temperature": 1.0, "max_gen_toks": 512, **until}
        try:
            self.lm = get_model(model).create_from_arg_string(model_args, more)
            self.gen_kwargs = usual | simple_parse_args_string(gen_kwargs)
        except Exception as error:
            raise UsageError(f"--model {model}: cannot be loaded: {brief(error)}") from error
        self.messages = apply_chat_template
        if apply_chat_template is None:
            # Types that take only messages show it in their names alone: local-chat-completions.
            template = getattr(getattr(self.lm, "tokenizer", None), "chat_template", None)
            self.messages = "chat" in model or bool(template)
        sizes = ("_concurrent", "_batch_size", "batch_size_per_gpu")
        numbers = [getattr(self.lm, name, None) for name in sizes]
        self.at_once = max([1, *(n for n in numbers if isinstance(n, int))])

    def ask(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[str]:
        """The answer to each prompt. A local model seeds torch with the first seed."""
        seeded = server_seed(self.lm) is not None
        if not seeded and (torch := sys.modules.get("torch")):
            torch.manual_seed(seeds[0])
        requests = []
        for i, (prompt, seed) in enumerate(zip(prompts, seeds, strict=True)):
            if self.messages:
                prompt = self.lm.apply_chat_template([{"role": "user", "content": prompt}])
            settings = {**self.gen_kwargs, "seed": seed} if seeded else dict(self.gen_kwargs)
            requests.append(request("generate_until", {}, (prompt, settings), i, None, i))
        return self.lm.generate_until(requests)


# ---- Task index and model types


def add_models(models: Callable[[], Mapping[str, str]]) -> None:
    """Register model types, unless the harness reads their entry points itself (after 0.4.13)."""
    import lm_eval.models  # noqa: F401  (fills the registry only while it is empty)
    from lm_eval.api import registry

    if hasattr(registry, "load_plugins"):
        return
    for name, target in models().items():
        if name not in registry.model_registry:
            registry.model_registry.register(name, target=target)


def add_tasks(tasks_module: ModuleType, folder: str) -> None:
    """Add a folder to the harness's task index; equal names of others win. If it cannot be done: a
    warning."""
    index_module: Any = sys.modules.get(f"{tasks_module.__name__}._index")
    try:
        build, kinds = index_module.TaskIndex.build, index_module.Kind
    except AttributeError:
        print(
            f"lm-eval-bias: lm_eval {version('lm_eval')} builds its task index in another way than "
            f"0.4.13; the bias tasks are found only with --include_path {folder}",
            file=sys.stderr,
        )
        return
    defaults = Path(index_module.__file__).parent

    def build_with_more(paths: Iterable[Any], **options: Any) -> dict[str, Any]:
        paths = [Path(path) for path in paths]
        index = build(paths, **options)
        # include_defaults=False, or the harness knows our folder already
        if defaults not in paths or Path(folder).resolve() in paths:
            return index
        for name, entry in build([Path(folder)], **options).items():
            if name not in index:
                index[name] = entry
            elif entry.kind is kinds.TAG and index[name].kind is entry.kind:
                index[name].tags |= entry.tags
        return index

    index_module.TaskIndex.build = staticmethod(build_with_more)
