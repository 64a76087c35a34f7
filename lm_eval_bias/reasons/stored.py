"""Sample and results files -> the answers that give reasons, and the clusters of the groups that
they are about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias.answers.reasoning import spoken
from lm_eval_bias.answers.text import CUT_OFF, REFUSED
from lm_eval_bias.results import samples
from lm_eval_bias.usage import UsageError

ALL = "all"
"""Stands for every item."""


class Answer(NamedTuple):
    """One answer. text: what the model said, without its reasoning. group: the label. named: the
    group in a sentence, where the document tells it. question: the items that were asked. prompt:
    what the model read."""

    text: str
    group: str
    named: str
    question: str
    style: str
    round: Any
    prompt: str


class Stored(NamedTuple):
    """The answers of some files, and how many were left out: refused, or cut off inside their
    reasoning."""

    answers: list[Answer]
    left_out: int


def stored_answers(files: Sequence[Path], items: Sequence[str]) -> Stored:
    """The answers to the questions whose item holds one of the words `items`, in the order of the
    files; `ALL` takes every question.

    Raises UsageError for a file that is none of samples with groups, that stands there twice, for
    runs of several models, and where there is no such answer.
    """
    seen: set[Path] = set()
    for path in files:
        if path.resolve() in seen:
            raise UsageError(f"{path} is given twice")
        seen.add(path.resolve())
    one_model(files)
    found: list[Answer] = []
    left_out, without_text, others = 0, 0, dict[str, None]()
    for path in files:
        documents: set[Any] = set()
        for line, sample in _lines(path):
            doc = sample["doc"]
            if doc.get("group") is None:
                wrong = "the document names no group; give the samples of a task that asks about social groups"
                raise UsageError(f"{path}, line {line}: {wrong}")
            asked = [doc["item"]] if doc.get("item") else list(doc.get("items") or ())
            if not _wanted(asked, items):
                others.update(dict.fromkeys(map(str, asked)))
                continue
            if sample["doc_id"] in documents:  # the same answers, as another filter read them
                continue
            documents.add(sample["doc_id"])
            texts = list(_texts(sample["resps"]))
            without_text += not texts
            read = sample.get("filtered_resps")
            read = (
                read if isinstance(read, list) and len(read) == len(texts) else [None] * len(texts)
            )
            for text, reading in zip(texts, read, strict=True):
                said = None if reading in (REFUSED, CUT_OFF) else spoken(text)
                if said is None:
                    left_out += 1
                    continue
                question = ", ".join(map(str, asked))
                style = str(doc.get("style") or "")
                named = str(doc.get("text") or doc["group"])
                found.append(
                    Answer(
                        said,
                        str(doc["group"]),
                        named,
                        question,
                        style,
                        doc.get("round"),
                        _prompt(sample),
                    )
                )
    if not found:
        if without_text:
            raise UsageError(
                f"{files[0]} holds no answers in words; give the samples of a task that generates them"
            )
        if left_out:
            raise UsageError(f"all {left_out} answers are refused or cut off; there are no reasons")
        if others:
            names = ", ".join(list(others)[:8]) + (", ..." if len(others) > 8 else "")
            wanted = " or ".join(map(repr, items))
            raise UsageError(
                f"no question about an item with {wanted}; the samples ask {names}: name some with --items, or --items {ALL}"
            )
        raise UsageError(f"{files[0]} is empty; give the files that --log_samples wrote")
    return Stored(found, left_out)


def one_model(files: Sequence[Path]) -> str | None:
    """The model that all files are of, as far as the results files beside them tell; UsageError
    where they are of several."""
    known: dict[Path, str] = {}
    for path in files:
        origin = samples.origin_of(path)
        run = samples.run(origin.task, path) if origin else None
        if run is not None and run.other["model"] is not None:
            known[path] = str(run.other["model"])
    for path, model in known.items():
        first, of = next(iter(known.items()))
        if model != of:
            raise UsageError(
                f"{path} is of the model {model}, and {first} of {of}; run the command for each model"
            )
    return next(iter(known.values()), None)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    sample = json.loads(line)
                    complete = (
                        isinstance(sample["doc"], dict)
                        and isinstance(sample["resps"], list)
                        and "doc_id" in sample
                    )
                except (ValueError, KeyError, TypeError):
                    complete = False
                if not complete:
                    raise UsageError(
                        f"{path}, line {number}: not a sample; give the files that --log_samples wrote"
                    )
                yield number, sample
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from error


def _wanted(asked: Sequence[Any], items: Sequence[str]) -> bool:
    """Whether a question is among those; one that names no item always is."""
    return (
        ALL in items
        or not asked
        or any(word.lower() in str(item).lower() for item in asked for word in items)
    )


def _texts(responses: Sequence[Any]) -> Iterator[str]:
    """What a model said, of a conversation its last turn; a likelihood, which stands there as two
    texts, is none."""
    for request in responses:
        for response in request if isinstance(request, list) else [request]:
            if isinstance(response, list):
                response = (
                    None
                    if len(response) == 2 and response[1] in ("True", "False")
                    else (response or [None])[-1]
                )
            if isinstance(response, str):
                yield response


def _prompt(sample: dict[str, Any]) -> str:
    """What the model read: the first argument of the request, if that is a text."""
    arguments = sample.get("arguments")
    first = next(iter(arguments.values()), None) if isinstance(arguments, dict) else None
    text = next(iter(first.values()), None) if isinstance(first, dict) else None
    return text if isinstance(text, str) else ""


class Clusters(NamedTuple):
    """of: group -> its cluster, None for a group that has none. names: in the order of the run.
    source: where they were read."""

    of: dict[str, str | None]
    names: list[str]
    source: str


def clusters_in(path: Path, groups: Iterable[str]) -> Clusters:
    """The clusters in a results file, or in what `lm-eval-bias merge --output` wrote; of several
    tasks those of the one that knows most of the groups. Raises UsageError if there are none of
    them."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or 'not a results file'}"
        ) from error
    found = list(_tables(path, content))
    if not found:
        raise UsageError(
            f"{path} has no clusters; give the results of a run that rates warmth and competence"
        )
    wanted = set(groups)

    def known(clusters: Clusters) -> int:
        return sum(clusters.of.get(group) is not None for group in wanted)

    best = max(found, key=known)
    if not known(best):
        raise UsageError(
            f"{best.source} has no cluster of any group of the samples; give the results of a run on the same groups"
        )
    return best


def clusters_beside(files: Sequence[Path], groups: Iterable[str]) -> Clusters | None:
    """The same from the results files in the folders of the samples, of the same model: that of the
    same run first, then the newest."""
    groups, model = set(groups), one_model(files)
    origins = [origin.results for origin in map(samples.origin_of, files) if origin]
    others = [
        path
        for folder in dict.fromkeys(f.parent for f in files)
        for path in sorted(folder.glob("results_*.json"), reverse=True)
    ]
    for path in dict.fromkeys([*origins, *others]):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            name = content.get("model_name") or content.get("config", {}).get("model_args")
            if model is None or name is None or str(name) == model:
                return clusters_in(path, groups)
        except (UsageError, OSError, ValueError, AttributeError):
            continue
    return None


def _tables(path: Path, content: Any) -> Iterator[Clusters]:
    """Every table `groups` with clusters."""
    content = content if isinstance(content, dict) else {}
    configs = content["configs"] if isinstance(content.get("configs"), dict) else {}
    held = [
        (task, config.get("cells")) for task, config in configs.items() if isinstance(config, dict)
    ]
    if isinstance(content.get("cells"), dict):
        held.append((content.get("task", "the merged samples"), content["cells"]))
    for task, cells in held:
        rows = cells.get("groups") if isinstance(cells, dict) else None
        rows = (
            [row for row in rows if isinstance(row, dict) and "group" in row and "cluster" in row]
            if isinstance(rows, list)
            else []
        )
        of = {
            str(row["group"]): None if row["cluster"] is None else str(row["cluster"])
            for row in rows
        }
        if any(cluster is not None for cluster in of.values()):
            order = cells["clusters"] if isinstance(cells.get("clusters"), list) else rows
            names = [
                str(row["cluster"])
                for row in order
                if isinstance(row, dict) and row.get("cluster") is not None
            ]
            present = {name for name in of.values() if name is not None}
            yield Clusters(
                of,
                [n for n in dict.fromkeys([*names, *sorted(present)]) if n in present],
                f"{task} in {path}",
            )
