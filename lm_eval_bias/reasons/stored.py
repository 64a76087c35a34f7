"""Read answers from sample files, and clusters from results files."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias.answers.reasoning import spoken
from lm_eval_bias.answers.text import CUT_OFF, REFUSED
from lm_eval_bias.data.bounds import Json, Unreadable, json_of, lines, loads
from lm_eval_bias.results import samples
from lm_eval_bias.usage import UsageError

ALL = "all"
"""Stands for every item."""


class Answer(NamedTuple):
    """An answer without its reasoning. named: the group as written in a sentence. question: its
    items.
    """

    text: str
    group: str
    named: str
    question: str
    style: str
    round: Any
    prompt: str


class Stored(NamedTuple):
    """left_out: answers refused or cut off."""

    answers: list[Answer]
    left_out: int


def stored_answers(files: Sequence[Path], items: Sequence[str]) -> Stored:
    """The answers to questions whose item contains a word of `items`, or to all for `ALL`. Raises
    UsageError for unusable files, several models, or no answers.
    """
    repeated = [path for i, path in enumerate(files) if path in files[:i]]
    if repeated:
        raise UsageError(f"{repeated[0]} is given twice")
    one_model(files)
    answers: list[Answer] = []
    left_out, without_text, others = 0, False, dict[str, None]()
    for path in files:
        documents = set()
        for line, sample in _lines(path):
            doc = sample["doc"]
            if doc.get("group") is None:
                raise UsageError(
                    f"{path}, line {line}: the document names no group; give the samples of a task "
                    "that asks about social groups"
                )
            question_items = [
                str(item) for item in ([doc["item"]] if doc.get("item") else doc.get("items") or ())
            ]
            if ALL not in items and question_items and not _contains(question_items, items):
                others |= dict.fromkeys(question_items)
                continue
            if sample["doc_id"] in documents:  # the same answers under another filter
                continue
            documents.add(sample["doc_id"])
            texts = list(_texts(sample["resps"]))
            without_text |= not texts
            for text, reading in zip(texts, _readings(sample, len(texts)), strict=True):
                answer = None if reading in (REFUSED, CUT_OFF) else spoken(text)
                if answer is None:
                    left_out += 1
                    continue
                answers.append(
                    Answer(
                        answer,
                        str(doc["group"]),
                        str(doc.get("text") or doc["group"]),
                        ", ".join(question_items),
                        str(doc.get("style") or ""),
                        doc.get("round"),
                        _prompt(sample),
                    )
                )
    if answers:
        return Stored(answers, left_out)
    if without_text:
        problem = "holds no answers in words; give the samples of a task that generates them"
        raise UsageError(f"{files[0]} {problem}")
    if left_out:
        raise UsageError(f"all {left_out} answers are refused or cut off; there are no reasons")
    if others:
        names = ", ".join([*list(others)[:8], *(["..."] if len(others) > 8 else [])])
        raise UsageError(
            f"no question about an item with {' or '.join(map(repr, items))}; the samples have "
            f"{names}. Choose with --items, or use --items {ALL}"
        )
    raise UsageError(f"{files[0]} is empty; give the files that --log_samples wrote")


def one_model(files: Sequence[Path]) -> None:
    """Raises UsageError for files of several models."""
    models: dict[str, Path] = {}
    for path in files:
        origin = samples.origin_of(path)
        run = samples.run(origin.task, path) if origin else None
        if run is not None and run.other["model"] is not None:
            models.setdefault(str(run.other["model"]), path)
    if len(models) > 1:
        (model, path), (other, of_other), *_ = models.items()
        raise UsageError(
            f"{of_other} has answers of the model {other}, {path} of {model}; "
            "run the command for each model"
        )


def _lines(path: Path) -> Iterator[tuple[int, Json]]:
    for number, line in lines(path):
        cause = "not a sample"
        try:
            sample = loads(line)
            complete = isinstance(sample["doc"], dict) and isinstance(sample["resps"], list)
            complete = complete and "doc_id" in sample
        except (KeyError, TypeError):
            complete = False
        except ValueError as error:
            complete, cause = False, str(error)
        if not complete:
            raise UsageError(
                f"{path}, line {number}: {cause}; give the files that --log_samples wrote"
            )
        yield number, sample


def _contains(question_items: Sequence[str], items: Sequence[str]) -> bool:
    return any(word.lower() in item.lower() for item in question_items for word in items)


def _readings(sample: Json, count: int) -> list[Any]:
    read = sample.get("filtered_resps")
    return read if isinstance(read, list) and len(read) == count else [None] * count


def _texts(responses: Sequence[Any]) -> Iterator[str]:
    """The generated texts; of a conversation, the last turn."""
    for request in responses:
        for response in request if isinstance(request, list) else [request]:
            if isinstance(response, list):
                likelihood = len(response) == 2 and response[1] in ("True", "False")
                response = None if likelihood or not response else response[-1]
            if isinstance(response, str):
                yield response


def _prompt(sample: Json) -> str:
    arguments = sample.get("arguments")
    first = next(iter(arguments.values()), None) if isinstance(arguments, dict) else None
    text = next(iter(first.values()), None) if isinstance(first, dict) else None
    return text if isinstance(text, str) else ""


class Clusters(NamedTuple):
    of: dict[str, str | None]
    names: list[str]
    source: str


def clusters_in(path: Path, groups: Iterable[str]) -> Clusters:
    """The clusters in a results file or `merge` output, of the task with most of the groups, or
    UsageError.
    """
    try:
        content = json_of(path)
        tables = list(_tables(path, content))
    except Unreadable:
        raise
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UsageError(f"cannot read {path}: not a results file") from error
    if not tables:
        raise UsageError(
            f"{path} has no clusters; give the results of a run that rates warmth and competence"
        )
    in_samples = set(groups)

    def known(clusters: Clusters) -> int:
        return sum(clusters.of.get(group) is not None for group in in_samples)

    best = max(tables, key=known)
    if not known(best):
        raise UsageError(
            f"{best.source} has no cluster of any group of the samples; give the results of a run "
            "on the same groups"
        )
    return best


def _tables(path: Path, content: Json) -> Iterator[Clusters]:
    tables = {task: config.get("cells") for task, config in content.get("configs", {}).items()}
    if "cells" in content:
        tables[content.get("task", "the merged samples")] = content["cells"]
    for task, cells in tables.items():
        of = {
            row["group"]: row["cluster"]
            for row in (cells or {}).get("groups", ())
            if "cluster" in row
        }
        present = {name for name in of.values() if name is not None}
        if present:
            order = [row["cluster"] for row in cells.get("clusters", ())]
            names = [name for name in dict.fromkeys([*order, *sorted(present)]) if name in present]
            yield Clusters(of, names, f"{task} in {path}")
