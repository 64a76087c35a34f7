"""The tasks as the YAML files declare them, without importing the harness, which takes seconds."""

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from lm_eval_bias.data.bounds import Unreadable, content_of, loads
from lm_eval_bias.data.content import PlainLoader, plain
from lm_eval_bias.data.rows import rows
from lm_eval_bias.data.schema import with_resolved_paths
from lm_eval_bias.measure import Measure, of_samples
from lm_eval_bias.usage import Options, UsageError, nearest, option_names, read_options

KNOWN = Path(__file__).parent / "benchmarks" / "known"
Config = dict[str, Any]
"""What a YAML, or a part of it, holds."""


def tasks_folder() -> str:
    """The folder of the YAML files, for `lm_eval --include_path`."""
    import lm_eval_bias.tasks

    return str(Path(lm_eval_bias.tasks.__path__[0]))


class Function:
    """`!function module.name` in a YAML: an importable module, or one beside the file."""

    def __init__(self, name: str, folder: Path):
        self.name, self.folder = name, folder

    def load(self) -> Any:
        """The object. Raises UsageError if there is none."""
        module, _, attribute = self.name.rpartition(".")
        beside = self.folder / f"{module.replace('.', '/')}.py"
        try:
            return getattr(
                _module_at(beside) if beside.exists() else import_module(module), attribute
            )
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(
                f"{self.folder}: !function {self.name} cannot be loaded: {error}"
            ) from error


def _module_at(path: Path) -> ModuleType:
    name = str(path.resolve().with_suffix(""))  # as the harness names it
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot read {path}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


class Task:
    """One task. config: its YAML with what it includes; path: of the file."""

    def __init__(self, config: Config, path: Path):
        self.config, self.path = config, path
        self.name: str = config["task"]
        metadata = config.get("metadata")
        self.metadata: Config = metadata if isinstance(metadata, dict) else {}
        self.paper, self.about = (str(self.metadata.get(key, "")) for key in ("paper", "about"))
        self.dataset_kwargs: Config = config.get("dataset_kwargs") or {}

    @property
    def request(self) -> str:
        """The harness's output type, or "conversation"."""
        return (
            "conversation"
            if "turns" in self.config
            else self.config.get("output_type", "generate_until")
        )

    @cached_property
    def measure(self) -> Measure | None:
        """None for a task of another class."""
        measure = self._loaded("measure")
        if measure and self.is_of_harness:
            measure = of_samples(measure, self.request == "multiple_choice")
        return measure and measure.of_task(self.name, self.dataset_kwargs)

    @cached_property
    def options(self) -> Any:
        """The task's `TaskOptions`; None if it has none."""
        return self._loaded("options")

    @property
    def is_of_harness(self) -> bool:
        """Whether it is asked by the harness alone, and its records are made from stored samples:
        `measure.record(document, sample)`."""
        return "tasks" in self.config

    @property
    def documents(self) -> int | None:
        """How many documents there are: what `documents.json` beside the YAML says, or `count`."""
        return _counts(self.path.parent).get(self.name) or self.count()

    def count(self, **files: str) -> int | None:
        """Make and count the documents; None where only the harness can tell. files: a person's
        own, by option."""
        build = self.builder
        if build is None:
            return None
        arguments = self.arguments(files)
        count = getattr(build, "count", None)
        return (
            count(**arguments)
            if count
            else len(build(**arguments)[self.config.get("test_split", "test")])
        )

    @cached_property
    def builder(self) -> Any:
        """The function that makes the documents; None for a task that names a data set."""
        return self._loaded("custom_dataset")

    def arguments(self, chosen: Options) -> Config:
        """What `builder` is called with. chosen: in place of the metadata of the YAML."""
        given = {**with_resolved_paths(self.metadata, self.path), **chosen}
        return {**given, **read_options(self.name, given, self.options), **self.dataset_kwargs}

    @property
    def option_names(self) -> list[str]:
        """What --metadata may set."""
        return option_names(self.options, self.config.get("wordings"))

    def documents_of(self, path: str) -> list[dict[str, Any]]:
        """The documents of a file in place of the task's data set. UsageError as in a run."""
        process = self._loaded("process_docs")
        try:
            return process(rows(path, self.config.get("dataset_name")))
        except UsageError as error:
            raise UsageError(f"{self.name}, {path}: {error}") from error

    def _loaded(self, key: str) -> Any:
        value = self.config.get(key)
        return value.load() if isinstance(value, Function) else value


@cache
def _counts(folder: Path) -> dict[str, int]:
    counts = folder / "documents.json"
    return loads(counts.read_bytes()) if counts.is_file() else {}


def tasks(include_path: Iterable[Path | str] = ()) -> Iterator[Task]:
    """Every task of this project, and of other folders, in the order of their files."""
    read.cache_clear()  # files may have changed
    for folder in (tasks_folder(), *include_path):
        if not Path(folder).is_dir():
            raise UsageError(f"{folder} is not a folder")
        for path in sorted(Path(folder).rglob("*.yaml")):
            config = read(path)
            if isinstance(config.get("task"), str) and "group" not in config:
                yield Task(config, path)


def of_harness() -> Iterator[Task]:
    """The harness's tasks that have a measure here: those that YAMLs of `KNOWN` name."""
    for path in sorted(KNOWN.glob("*.yaml")):
        config = read(path)
        yield from (Task({**config, "task": name}, path) for name in config["tasks"])


def measured(include_path: Iterable[Path | str] = ()) -> dict[str, Task]:
    """The tasks whose runs have numbers: `by_name`, and those of the harness."""
    return {**{task.name: task for task in of_harness()}, **by_name(include_path)}


def by_name(include_path: Iterable[Path | str] = ()) -> dict[str, Task]:
    """Every task by its name; of several the last, which is a person's own."""
    return {task.name: task for task in tasks(include_path)}


def task(name: str, include_path: Iterable[Path | str] = ()) -> Task:
    """The task of that name. UsageError if there is none."""
    known = measured(include_path)
    if name not in known:
        raise UsageError(f"no task {name!r}; {nearest(name, known, 'see lm-eval-bias tasks')}")
    return known[name]


@cache
def read(path: Path) -> Config:
    """A YAML file and what it includes. UsageError if it is no YAML."""

    class Loader(PlainLoader):
        pass

    def function(loader: Any, node: Any) -> Function:
        return Function(loader.construct_scalar(node), path.parent)

    Loader.add_constructor("!function", function)
    try:
        config = plain(content_of(path).decode("utf-8-sig"), Loader) or {}
    except Unreadable:
        raise
    except ValueError as error:
        raise Unreadable(path, str(error)) from error
    if not isinstance(config, dict):
        return {}
    included = config.pop("include", None) or []
    merged: Config = {}
    for other in included if isinstance(included, list) else [included]:
        merged |= read(path.parent / other)
    return merged | config
