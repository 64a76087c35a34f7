"""Sample files that `lm_eval --log_samples` wrote -> records, and how they were asked."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias.catalogue import Function, Task
from lm_eval_bias.data.bounds import GZ, Json, json_of, lines, loads
from lm_eval_bias.data.schema import OPTIONS
from lm_eval_bias.exhibit import Table
from lm_eval_bias.likelihoods import Likelihood, Thought
from lm_eval_bias.measure import (
    INSTRUCTION,
    THOUGHT,
    Measure,
    by_wording,
    explained,
    record_of,
    shares,
    summarise,
    tables,
)
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
DATED = re.compile(
    r"(?P<stem>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(\.\d+)?)\.(?P<kind>jsonl?)(\.gz)?$", re.S
)
"""`samples_TASK_2026-01-31T10-11-12.123456.jsonl`, `results_2026-01-31T10-11-12.123456.json`, and
`STEM_DATE.json` of `lm_eval --output_path STEM.json`."""
RECORDED = (
    "command",
    "config",
    "fewshot_as_multiturn",
    "lm_eval_version",
    "n-shot",
    "system_instruction",
    "transformers_version",
)
"""What a results file says of how a run was asked."""
_BY_TASK = ("results", "configs", "versions", "n-samples", "n-shot")
_OF_TASK = ("cells", "metadata", "repeats", "error", "generation_kwargs")
_KEPT = (*RECORDED, "model_name", "chat_template_sha", "system_instruction_sha", "date")
# Names of the harness's models that send messages: `local-chat-completions`,
# `openai-chat-completions`, `anthropic-chat`, `litellm-chat`, and our `chat-logprobs`; and their
# classes, such as `LocalChatCompletion`, in what Python saved.
_CHAT_COMPLETIONS = re.compile(r"-chat(-completions)?$|^litellm$|^chat-logprobs$|Chat(Comp|Log|$)")


def at(content: Any, *path: str) -> Any:
    """What stands at a place in nested mappings; None where nothing does."""
    for key in path:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def mapping(content: Any, *path: str) -> Json:
    """The same; empty where no mapping stands."""
    value = at(content, *path)
    return value if isinstance(value, dict) else {}


def model_arguments(results: Json) -> Json:
    """`--model_args`, of which Python's `simple_evaluate` keeps the text it was given."""
    given = at(results, "config", "model_args")
    if not isinstance(given, str):
        return mapping(given)
    pairs = re.findall(r"""([^=,]+)=\s*['"]?([^,]*?)['"]?\s*(?:,|$)""", given)
    named = {"true": True, "false": False, "none": None}
    return {key: named.get(value.lower(), value) for key, value in pairs}


def model_name(results: Json) -> str | None:
    """The model, and "@" its revision; None if it has no name there."""
    arguments = model_arguments(results)
    names = [at(arguments, key) for key in _NAMED_BY]
    known = at(results, "config", "model_dtype") and at(results, "config", "model")
    if any(names) or results.get("model_source") != "CUSTOM" or not known:
        names.insert(0, results.get("model_name"))  # else the harness drew it, always the same
    # the harness writes "None" for a run with `peft=None`
    name = next((n for n in names if n and n != "None"), at(results, "config", "model"))
    revision = at(arguments, "revision")
    if not name:
        return None
    return f"{name}@{revision}" if revision and revision != "main" else str(name)


def dtype(results: Json) -> str:
    """The number format of the model's weights, and what quantises them; "unknown" if so."""
    arguments = model_arguments(results)
    written = at(results, "config", "model_dtype") or arguments.get("dtype") or "unknown"
    keys = filter(_QUANTISED.search, arguments)
    return " ".join(
        [
            str(written).removeprefix("torch."),
            *(f"{k}={arguments[k]}" for k in keys if arguments[k]),
        ]
    )


def is_tracked(results: Json) -> bool:
    """Whether the harness's tracker knew the run, and not its results alone."""
    return results.get("model_source", "") is not None


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
    return None if is_tracked(results) and "chat_template_sha" in results else ""


def template_name(template: str | None) -> str:
    """How a `chat_template` is shown."""
    return {None: "none", "": "unknown"}.get(template, "the model's")


def thinking(results: Json, task: str) -> str:
    """How far a model thought first: "yes", "no", or its `reasoning_effort`. Most of its answers
    show it, or its arguments or the task's metadata say so."""
    arguments, config = model_arguments(results), mapping(results, "configs", task)
    given = {**mapping(arguments, "chat_template_args"), **mapping(arguments, "extra_body")}
    given |= {**mapping(given, "chat_template_kwargs"), **arguments}
    effort, switch = map(given.get, ("reasoning_effort", "enable_thinking"))
    if effort and effort != "none":
        return str(effort)
    table = at(config, "cells", THOUGHT)
    share = at(table[0], THOUGHT) if isinstance(table, list) and table else None
    ends = given.get("think_end_token") and switch is not False
    says = ends or True in (at(config, "metadata", "reasoning"), switch)
    return "yes" if says or (isinstance(share, float) and share >= 50) else "no"


def date_of(path: Path) -> str:
    """The date in the name of a file; empty where there is none."""
    name = DATED.match(path.name)
    return name["date"] if name else ""


def results_file(samples: Path) -> Path | None:
    """The results file of a sample file; None if it is not beside it."""
    names = [f"*_{date}.json{end}" for end in ("", GZ) if (date := date_of(samples))]
    return next((path for name in names for path in samples.parent.glob(name)), None)


def results_of(samples: Path, task: str) -> Json | None:
    """What stands there. UsageError for results without the task."""
    path = results_file(samples)
    results = json_of(path) if path else None
    if path and not mapping(results, "configs", task):
        raise UsageError(f"{path}: not a results file of {task}")
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
    """What samples hold. documents: by their hash."""

    measure: Measure
    documents: Mapping[str, Document]
    options: Options

    @property
    def which(self) -> str:
        return _checksum(sorted(self.documents))

    @property
    def prompts(self) -> str | None:
        """The checksum of what was asked of all documents; None where the samples do not say."""
        prompts = [self.documents[name].prompt for name in sorted(self.documents)]
        return None if None in prompts else _checksum(map(str, prompts))


def _checksum(texts: Iterable[str]) -> str:
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:12]


def answers(task: Task, files: Sequence[Path], written: Options) -> Answers:
    """What sample files hold. written: the options of their run. UsageError as `documents`."""
    by_hash = {document.hash: document for document in documents(task, files)}
    return Answers(measure_of(task), by_hash, run_options(task, written))


def run_options(task: Task, written: Options) -> Options:
    """The options of a run. written: by the run, which has checked them, with files that may be
    elsewhere now; others have their defaults."""
    own = {key: value for key, value in written.items() if key in task.option_names}
    return read_options(task.name, {}, task.options) | own


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


def numbers_of(task: Task, documents: Iterable[Document], options: Options) -> dict[str, Table]:
    """The tables of a run's documents. UsageError for records that the measure cannot count."""
    records = [record for document in documents for record in document.records]
    measure = measure_of(task)
    with explained():
        return tables(measure, summarise(measure, records, options))


def in_order(task: Task, files: Sequence[Path]) -> list[Document]:
    """`documents` with the records of all wordings."""
    result = []
    origin: dict[str, Path] = {}
    seen = set()
    own_files: dict[str, tuple[str, Path]] = {}
    of_harness = measure_of(task).record if task.is_of_harness else None
    for path in files:
        if not of_harness:
            _check_version(task, path)
        repeats, first, number = cache(partial(_repeats, task, path)), None, 0
        for number, line in lines(path):
            place = f"{path}, line {number}"
            try:
                sample = loads(line)
                # a baseline has records of the harness's tasks, too
                if of_harness is None or "records" in sample:
                    made, name = sample["records"], sample["doc_hash"]
                    if not isinstance(name, str):
                        raise TypeError("doc_hash is a text")
                    which = name, sample.get("doc_id")
                    if origin.get(name) == path and which not in seen:
                        name = f"{name} {which[1]}"  # its data set may, as below
                    seen.add(which)
                else:
                    first = sample if first is None else first
                    wanted = task.config.get("filter") or first.get("filter")
                    if sample.get("filter", wanted) != wanted:
                        continue  # the same answers, read in another way
                    made = of_harness(sample["doc"], sample)
                    # its data may hold a document twice
                    name = f"{sample['doc_hash']} {sample['doc_id']}"
                records = [{**r} for r in (made if isinstance(made, list) else [made])]
            except (ValueError, LookupError, TypeError, AttributeError) as error:
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
            if name in origin:
                raise UsageError(
                    f"{place}: this document stands in {origin[name]} too; merge runs "
                    "of different documents"
                )
            origin[name] = path
            for key in FILES if records else ():
                file = str(records[0].get(key, "ours"))
                before, where = own_files.setdefault(key, (file, path))
                # the sha256; it may have been moved
                if file.rpartition(" ")[2] != before.rpartition(" ")[2]:
                    raise UsageError(
                        f"{place}: {key} is {file}, and {before} in {where}; runs on "
                        "other items do not belong together"
                    )
            doc_id = sample.get("doc_id")
            in_whole = doc_id if isinstance(doc_id, int) else 0
            result.append(Document(name, _prompt(sample, len(records)), records, in_whole))
        if not number:
            raise UsageError(f"{path}: no sample in it; give the files that --log_samples wrote")
    return sorted(result, key=attrgetter("place"))


def _check_version(task: Task, path: Path) -> None:
    """UsageError for samples of another version, whose records mean other numbers."""
    written = at(results_of(path, task.name), "versions", task.name)
    version = task.metadata.get("version", written)
    if written not in (version, None):
        raise UsageError(
            f"{path}: samples of version {written}, and this is version {version} of {task.name}; "
            "run it again, or install the lm-eval-bias that it was run with"
        )


def listed(of: Any) -> list[Any]:
    """The values of a mapping, a list itself, or a list of what is neither."""
    return list(of.values()) if isinstance(of, dict) else of if isinstance(of, list) else [of]


def requests_of(sample: Json) -> list[list[Any]]:
    """The arguments of each request."""
    return [
        # the harness puts the messages to a server into a list
        [value[0] if value and isinstance(value, list) else value for value in listed(request)]
        for request in listed(sample.get("arguments") or [])
    ]


def _prompt(sample: Json, records: int) -> str | None:
    """The checksum of all that was asked of a document, in the first of several wordings."""
    requests = requests_of(sample)
    requests = requests[: len(requests) // max(records, 1) or None]
    asked = [_asked(value) for request in requests for value in request]
    if texts := [text for text in asked if text is not None]:
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
    prompt = sample.get("prompt_hash")  # of a baseline
    return prompt if isinstance(prompt, str) else None


def _asked(value: Any) -> Any:
    """What a request asks in an argument: a text, or a conversation without its settings."""
    if not isinstance(value, dict):
        return value
    turns = value.get("turns")
    if not isinstance(turns, list):
        return None
    return [
        value.get("system"),
        *(
            {key: part for key, part in mapping(turn).items() if key != "generation_kwargs"}
            for turn in turns
        ),
    ]


def remade(task: Task, sample: dict[str, Any], repeats: int | None, wordings: int) -> Table:
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
            if measure.one_record_per_document:
                return [measure.record(doc, answers)]
            return [measure.record(doc, [answer]) for answer in answers]
    answers, turns = [first for first, *_ in responses], "turns" in task.config
    return [record_of(measure, doc, answer, turns) for answer in shares(answers, wordings)]


def _repeats(task: Task, path: Path) -> int | None:
    results = results_of(path, task.name)
    return None if results is None else at(results, "configs", task.name).get("repeats", 1)


def _answers(written: Any) -> Any:
    if not isinstance(written, list):
        return written
    match written:
        case [value, ("True" | "False") as greedy, *more] if len(more) in (0, 4):
            kinds = zip((int, int, float, str), more, strict=False)
            known: Any = (None if x == "None" else kind(x) for kind, x in kinds)
            return Likelihood(float(value), greedy == "True", *known)
        case [text, tokens, ("True" | "False") as closed]:
            return Thought(text, None if tokens == "None" else int(tokens), closed == "True")
    return [_answers(value) for value in written]
