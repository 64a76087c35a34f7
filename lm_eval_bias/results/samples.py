"""Sample files that `lm_eval --log_samples` wrote -> records, and how they were asked."""

import hashlib
import json
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias.catalogue import Function, Task
from lm_eval_bias.data.bounds import GZ, Json, json_of, lines, loads
from lm_eval_bias.data.schema import OPTIONS
from lm_eval_bias.exhibit import Table
from lm_eval_bias.measure import INSTRUCTION, Measure, by_wording, shares
from lm_eval_bias.usage import SHARD, Options, UsageError, part, read_options

# Options that only say which of the documents a run asks; all others must agree between runs that
# are put together.
PARTS = frozenset({SHARD})
# The columns of a record that name a person's own files.
FILES = tuple(f"{option}_file" for option in OPTIONS)
# Arguments of the harness's models such as `load_in_4bit`, `quantization`, `gguf_file`.
_QUANTISED = re.compile(r"load_in_|quant|gptq|gguf")
# Where the harness finds a model's name among its arguments, in its own order.
_NAMED_BY = ("peft", "delta", "pretrained", "model", "path", "engine")
# `samples_TASK_2026-01-31T10-11-12.123456.jsonl`, beside `results_2026-01-31T10-11-12.123456.json`
_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl(\.gz)?$")
_BY_TASK = ("results", "configs", "versions", "n-samples")
_OF_TASK = ("cells", "metadata", "repeats", "error", "generation_kwargs")
_KEPT = (*_BY_TASK, "config", "model_name", "chat_template_sha", "system_instruction_sha", "date")
# Names of the harness's models that send messages: `local-chat-completions`,
# `openai-chat-completions`, `anthropic-chat`, `litellm-chat`, and our `chat-logprobs`.
_CHAT_COMPLETIONS = re.compile(r"-chat(-completions)?$|^litellm$|^chat-logprobs$")


def at(content: Any, *path: str) -> Any:
    """What stands at a place in nested mappings; None where nothing does."""
    for key in path:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def mapping(content: Any, *path: str) -> Json:
    """The same; empty where no mapping stands."""
    value = at(content, *path)
    return value if isinstance(value, dict) else {}


def model_name(results: Json) -> str | None:
    """The model, and "@" its revision; None if it has no name there."""
    arguments = at(results, "config", "model_args")
    if isinstance(arguments, str):
        arguments = dict(pair.partition("=")[::2] for pair in arguments.split(","))
    names = [results.get("model_name"), *(at(arguments, key) for key in _NAMED_BY)]
    name = next(filter(None, names), at(results, "config", "model"))
    revision = at(arguments, "revision")
    if not name:
        return None
    return f"{name}@{revision}" if revision and revision != "main" else str(name)


def dtype(results: Json) -> str:
    """The number format of the model's weights, and what quantises them; "unknown" if so."""
    arguments = mapping(results, "config", "model_args")
    written = at(results, "config", "model_dtype") or arguments.get("dtype") or "unknown"
    keys = filter(_QUANTISED.search, arguments)
    return " ".join([str(written).removeprefix("torch."), *(f"{k}={arguments[k]}" for k in keys)])


OF_THE_SERVER = "the server's"
"""The chat template of models that are asked through a server's chat completions: it has one, and
the harness does not see which."""


def chat_template(results: Json) -> str | None:
    """The checksum of the chat template, or `OF_THE_SERVER`; None if there was none, "" if nothing
    says so, as in results that Python saved."""
    template, kind = results.get("chat_template_sha"), at(results, "config", "model")
    if isinstance(template, str) and template:
        return template
    if isinstance(kind, str) and _CHAT_COMPLETIONS.search(kind):
        return OF_THE_SERVER
    return None if "chat_template_sha" in results else ""


def template_name(template: str | None) -> str:
    """How a `chat_template` is shown."""
    return {None: "none", "": "unknown"}.get(template, "the model's")


class Origin(NamedTuple):
    """The task and the results file of a sample file."""

    task: str
    results: Path


def origin_of(samples: Path) -> Origin | None:
    """Where a sample file comes from; None if its results file is not beside it."""
    name = _NAME.search(samples.name)
    if name is None:
        return None
    paths = (samples.with_name(f"results_{name['date']}.json{end}") for end in ("", GZ))
    return next((Origin(name["task"], path) for path in paths if path.is_file()), None)


def date_of(samples: Path) -> str:
    """The date in the name of a sample file; empty where there is none."""
    name = _NAME.search(samples.name)
    return name["date"] if name else ""


def results_of(task: str, samples: Path) -> Json | None:
    """The results file of a sample file; None if it is not beside it. UsageError for one without
    the task."""
    origin = origin_of(samples)
    if origin is None:
        return None
    results = json_of(origin.results)
    if not isinstance(at(results, "configs", task), dict):
        raise UsageError(f"{origin.results}: not a results file of {task}")
    return results


def of_tasks(results: Json, tasks: Collection[str]) -> dict[str, Any]:
    """What a results file says of some tasks and of how they were asked."""
    kept = {key: results[key] for key in _KEPT if key in results}
    for key in _BY_TASK:
        kept[key] = {k: v for k, v in mapping(results, key).items() if k in tasks}
    for name, config in kept["configs"].items():
        kept["configs"][name] = {key: config[key] for key in _OF_TASK if key in config}
    return kept


def part_of(options: Options) -> tuple[int, int] | None:
    """The part and the number of parts, of a run on a part of the documents."""
    try:
        share = part(options)
    except UsageError:
        return None
    return share if share[1] > 1 else None


class Document(NamedTuple):
    """A document of a run. hash: of its content. prompt: that of what was asked. place: among all
    documents of the task."""

    hash: str
    prompt: str | None
    records: Table
    place: int = 0


class Answers(NamedTuple):
    """What samples hold. documents: by their hash. step: as of `paired.JackknifePlan`."""

    measure: Measure
    documents: Mapping[str, Document]
    options: Options
    step: Callable[[float], object] = float

    @property
    def which(self) -> str:
        return hashlib.sha256("".join(sorted(self.documents)).encode()).hexdigest()[:12]

    @property
    def prompts(self) -> str | None:
        """The checksum of what was asked of all documents; None where the samples do not say."""
        prompts = [self.documents[name].prompt for name in sorted(self.documents)]
        if None in prompts:
            return None
        return hashlib.sha256("".join(map(str, prompts)).encode()).hexdigest()[:12]


def answers(task: Task, files: Sequence[Path], written: Options) -> Answers:
    """What sample files hold. written: the options of their run. UsageError as `documents`."""
    # What a run wrote was checked there, with files that may be elsewhere now.
    options = read_options(task.name, {}, task.options)
    options |= {key: value for key, value in written.items() if key in task.option_names}
    return Answers(measure_of(task), {d.hash: d for d in documents(task, files)}, options)


def measure_of(task: Task) -> Measure:
    if task.measure is None:
        raise UsageError(f"{task.name} declares no measure, so there is nothing to compute")
    return task.measure


def documents(task: Task, files: Sequence[Path]) -> list[Document]:
    """The documents of sample files, in the order of a whole run, with the records of the first
    wording; records that the run could not make are made now. UsageError for other samples, for a
    document that stands there twice, and for runs on different items."""
    return [
        document._replace(records=next(iter(by_wording(document.records).values()), []))
        for document in in_order(task, files)
    ]


def in_order(task: Task, files: Sequence[Path]) -> list[Document]:
    """`documents` with the records of all wordings."""
    return sorted(_line_by_line(task, files), key=attrgetter("place"))


def _line_by_line(task: Task, files: Sequence[Path]) -> Iterator[Document]:
    origin: dict[str, Path] = {}
    files_of_all: dict[str, Any] = {}
    for path in files:
        repeats = cache(partial(_repeats, task, path))
        for number, line in lines(path):
            place = f"{path}, line {number}"
            try:
                sample = loads(line)
                records, document = sample["records"], sample["doc_hash"]
                if not isinstance(document, str):
                    raise TypeError("doc_hash is a text")
                records = [
                    {key: _interned(value) for key, value in record.items()}
                    for record in (records if isinstance(records, list) else [records])
                ]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                cause = f" ({error})" if isinstance(error, ValueError) else ""
                raise UsageError(
                    f"{place}: not a sample of {task.name}{cause}; give the files that "
                    "--log_samples wrote"
                ) from None
            # an error that comes again is reported as what it is
            if any("error" in record for record in records):
                marks = (*FILES, INSTRUCTION)
                named = [{key: record[key] for key in marks if key in record} for record in records]
                records = remade(task, sample, repeats(), len(records))
                records = [record | named[i % len(named)] for i, record in enumerate(records)]
            if document in origin:
                raise UsageError(
                    f"{place}: this document stands in {origin[document]} too; merge runs "
                    "of different documents"
                )
            origin[document] = path
            for key in FILES if records else ():
                file = records[0].get(key, "ours")
                before = files_of_all.setdefault(key, file)
                # the sha256; it may have been moved
                if str(file).rpartition(" ")[2] != str(before).rpartition(" ")[2]:
                    raise UsageError(
                        f"{place}: {key} is {file}, and {before} in {files[0]}; runs on "
                        "other items do not belong together"
                    )
            doc_id = sample.get("doc_id")
            in_whole = doc_id if isinstance(doc_id, int) else 0
            yield Document(document, _prompt(sample), records, in_whole)


def requests_of(sample: Json) -> list[list[Any]]:
    """The arguments of each request; mappings, or lists."""

    def values(of: Any) -> list[Any]:
        return list(of.values()) if isinstance(of, dict) else of if isinstance(of, list) else [of]

    return [values(request) for request in values(sample.get("arguments") or [])]


def _prompt(sample: Json) -> str | None:
    """The checksum of all that was asked of a document."""
    texts: list[Any] = []
    for value in (value for request in requests_of(sample) for value in request):
        turns = at(value, "turns")
        if isinstance(turns, list):  # a conversation
            own = [_without(turn, "generation_kwargs") for turn in turns]
            texts.append([value.get("system"), *own])
        elif not isinstance(value, dict):
            texts.append(value)
    if not texts:  # a baseline
        prompt = sample.get("prompt_hash")
        return prompt if isinstance(prompt, str) else None
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def _without(value: Any, left_out: str) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key != left_out}


def remade(
    task: Task, sample: dict[str, Any], repeats: int | None = None, wordings: int = 1
) -> Table:
    """The records of a sample, read anew by the task's own filters. repeats: how often the document
    was asked. wordings: in how many it was asked."""
    measure = measure_of(task)
    doc, responses = sample["doc"], _answers(sample["resps"])
    filters = task.config.get("filter_list") or ()
    for step in (step for chain in filters for step in chain["filter"]):
        read = step["function"]
        if read == "take_first":
            break
        if not isinstance(read, Function):
            raise UsageError(
                f"{task.name}: the filter {read} cannot be applied again; records of this sample "
                "cannot be made"
            )
        options = {key: value for key, value in step.items() if key != "function"}
        responses = list(read.load()(**options).apply(responses, [doc] * len(responses)))
    else:
        if filters:
            answers = responses[0][:repeats]
            if measure.gathers:
                return [measure.record(doc, answers)]
            return [measure.record(doc, [answer]) for answer in answers]
    answers = [first for first, *_ in responses]
    return [measure.record(doc, answer) for answer in shares(answers, wordings)]


def _repeats(task: Task, path: Path) -> int | None:
    results = results_of(task.name, path)
    return None if results is None else at(results, "configs", task.name).get("repeats", 1)


def _interned(value: Any) -> Any:
    """The same few names in every line are kept once."""
    return sys.intern(value) if isinstance(value, str) else value


def _answers(written: Any) -> Any:
    if isinstance(written, list):
        if len(written) == 2 and written[1] in ("True", "False"):
            return float(written[0]), written[1] == "True"
        return [_answers(value) for value in written]
    return written
