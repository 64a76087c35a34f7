"""The commands that ask the same again, from what runs recorded."""

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any

from lm_eval_bias.data.bounds import Unreadable, lines, loads
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.samples import at, mapping
from lm_eval_bias.show.exhibited import TaskInfo

_SEEDS = {"random_seed": 0, "numpy_seed": 1234, "torch_seed": 1234, "fewshot_seed": 1234}
"""The harness's defaults, in the order of its `--seed`."""
_OF_ALL_TASKS = "reasoning", "anyway"
_END = ("--log_samples", "--output_path", "results")
_PLAIN = re.compile(r"(?!(true|false|none|nan|inf|infinity)$)[a-z_./~][\w./:@~-]*", re.A | re.I)
"""A text that the harness's options read as itself, and not as a number or a truth value."""


def commands(runs: Sequence[Run], known: Mapping[str, TaskInfo]) -> list[str]:
    """A command for all tasks that were asked alike."""
    alike = defaultdict(list)
    for run in chain.from_iterable(run.variants for run in runs):
        yaml = at(run.recorded, "metadata", "config_source")
        own = TaskInfo(folder=str(Path(yaml).parent) if isinstance(yaml, str) else "")
        alike[tuple(_words(run, known.get(run.task, own)))].append(run.task)
    return [
        " ".join(map(_quoted, ("lm_eval", *words, "--tasks", ",".join(tasks), *_END)))
        for words, tasks in alike.items()
    ]


def _words(run: Run, known: TaskInfo) -> Iterator[str]:
    recorded, config = run.recorded, mapping(run.recorded, "config")
    kind, arguments = config.get("model"), config.get("model_args")
    kind = kind if isinstance(kind, str) else "MODEL"
    if not arguments:  # an object of Python, perhaps
        arguments = f"{'pretrained' if kind.startswith('hf') else 'model'}={run.identity}"
    yield from ("--model", kind, "--model_args", _pairs(arguments))
    for name, default in (("batch_size", "1"), ("device", "cuda:0")):
        if (value := str(config.get(name))) not in ("None", default):
            yield from (f"--{name}", value)
    if known.folder:
        yield from ("--include_path", known.folder)
    options = {
        key: value
        for key, value in run.options.items()
        if value not in (None, known.defaults.get(key)) and not key.endswith("_sha256")
    }
    given = mapping(recorded, "metadata")
    options |= {key: given[key] for key in _OF_ALL_TASKS if given.get(key)}
    if options:
        yield from ("--metadata", _pairs(options))
    yield from _documents(run, config.get("limit"))
    if run.template:
        yield "--apply_chat_template"
    if system := recorded.get("system_instruction"):
        yield from ("--system_instruction", str(system))
    if shots := at(recorded, "n-shot", run.task):
        yield from ("--num_fewshot", str(shots))
        if isinstance(turns := recorded.get("fewshot_as_multiturn"), bool):
            yield from ("--fewshot_as_multiturn", str(turns).lower())
    if generation := config.get("gen_kwargs"):
        yield from ("--gen_kwargs", _pairs(generation))
    seeds = {name: config.get(name) for name in _SEEDS}
    if any(seed is not None for seed in seeds.values()) and seeds != _SEEDS:
        yield from ("--seed", ",".join(map(str, seeds.values())))


def _documents(run: Run, limit: Any) -> Iterator[str]:
    if isinstance(limit, (int, float)) and not isinstance(limit, bool):
        yield from ("--limit", f"{limit:.10g}")
    elif 0 < run.n < (run.of or 0) and not run.parts:
        try:  # --samples, which no file records
            ids = [loads(line)["doc_id"] for path in run.samples for _, line in lines(path)]
        except (Unreadable, ValueError, LookupError, TypeError):
            ids = []
        yield from ("--samples", json.dumps({run.task: ids})) if ids else ("--limit", str(run.n))


def _pairs(values: Any) -> str:
    """Values as NAME=VALUE,... where the harness reads that back as it is, else as JSON."""
    if not isinstance(values, dict):
        return str(values)
    if all(map(_is_plain, values.values())):
        return ",".join(f"{key}={value}" for key, value in values.items())
    return json.dumps(values, ensure_ascii=False)


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _PLAIN.fullmatch(value) is not None
    return isinstance(value, (int, float)) and isfinite(value) and value >= 0


def _quoted(word: str) -> str:
    """A word for bash, without invisible characters but for line ends."""
    if all(c.isprintable() or c == "\n" for c in word):
        return shlex.quote(word)
    shown = (c if c.isprintable() and c not in "\\'" else f"\\U{ord(c):08x}" for c in word)
    return f"$'{''.join(shown)}'"
