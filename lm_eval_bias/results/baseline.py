"""A baseline: what a comparison needs of finished runs, as JSON compressed by xz.

{"lm_eval_bias_baseline": 1, "files": {name: content}}; of a sample the hash of its document, the
checksum of its prompt, and its records.
"""

from __future__ import annotations

import json
import lzma
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from lm_eval_bias import writing
from lm_eval_bias.catalogue import Task
from lm_eval_bias.data.bounds import FILE, Unreadable, content_of, json_of, loads, plain_name
from lm_eval_bias.results import samples
from lm_eval_bias.usage import UsageError

if TYPE_CHECKING:  # which reads baselines
    from lm_eval_bias.results.runs import Run

SUFFIX = ".json.xz"
_MARK = "lm_eval_bias_baseline"
_UNPACKED: list[tempfile.TemporaryDirectory[str]] = []
"""Folders that last as long as the program."""


def packed(runs: Sequence[Run], known: Mapping[str, Task]) -> bytes:
    """The file of these runs. known: the tasks by name. UsageError for runs without samples and for
    those put together."""
    files = {}
    for i, results in enumerate(dict.fromkeys(run.results for run in runs)):
        theirs = [run for run in runs if run.results == results]
        for run in theirs:
            if run.parts:
                raise UsageError(f"{run.task} of {run.model} cannot be saved: it was put together")
            if not run.samples:
                raise UsageError(
                    f"{run.task} of {run.model} cannot be saved: run it with --log_samples"
                )
            if run.task not in known:
                raise UsageError(
                    f"{run.task} is not known here; name its folder with --include_path"
                )
            documents = samples.in_order(known[run.task], run.samples)
            files[f"{i}/{plain_name(run.samples[0])}"] = "".join(map(_line, documents))
        kept = samples.of_tasks(json_of(results), {run.task for run in theirs})
        kept.pop("system_instruction", None)  # a text
        files[f"{i}/{plain_name(results)}"] = json.dumps(kept)
    content = json.dumps({_MARK: 1, "files": files})
    if len(content) > FILE:
        raise UsageError(
            f"these runs make a baseline of more than {FILE >> 20} MB; save fewer tasks"
        )
    return lzma.compress(content.encode())


def _line(document: samples.Document) -> str:
    """A sample as `samples` reads it."""
    sample = {
        "doc_id": document.place,
        "doc_hash": document.hash,
        "prompt_hash": document.prompt,
        "records": document.records,
    }
    return f"{json.dumps(sample)}\n"


def unpacked(path: Path) -> Path:
    """A folder with its runs. Raises Unreadable."""
    try:
        reader = lzma.LZMADecompressor(memlimit=2**28)
        content = reader.decompress(content_of(path), max_length=FILE + 1)
        if len(content) > FILE or not reader.eof:
            raise Unreadable(path, f"it is cut off, or holds more than {FILE >> 20} MB")
        files = loads(content)["files"]
        if not all(isinstance(text, str) for text in files.values()):
            raise TypeError("a file is a text")
    except Unreadable:
        raise
    except (lzma.LZMAError, ValueError, KeyError, TypeError, AttributeError):
        raise Unreadable(path, "it is no baseline that `lm-eval-bias gate --save` wrote") from None
    folder = tempfile.TemporaryDirectory(prefix="lm-eval-bias-")
    _UNPACKED.append(folder)
    for name, text in files.items():
        parts = PurePosixPath(name).parts
        if len(parts) != 2 or not parts[0].isdigit() or "\0" in name:
            raise Unreadable(path, f"it names a file {name!r}")
        writing.whole(Path(folder.name, *parts), text)
    return Path(folder.name)
