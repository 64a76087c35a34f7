"""A baseline: what a comparison needs of finished runs, in one small file.

JSON, compressed by xz: {"lm_eval_bias_baseline": 1, "files": {name: content}}, with the files of a
folder of runs. Results lack what shapes no number; of a sample stay the hash of its document, the
checksum of its prompt, and its records: no prompt and no answer of the model.
"""

from __future__ import annotations

import json
import lzma
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from lm_eval_bias import writing
from lm_eval_bias.data.bounds import FILE, Unreadable, content_of, json_of, lines, loads
from lm_eval_bias.results.samples import asked
from lm_eval_bias.usage import UsageError

if TYPE_CHECKING:  # which reads baselines
    from lm_eval_bias.results.runs import Run

SUFFIX = ".json.xz"
_MARK = "lm_eval_bias_baseline"
_BY_TASK = ("results", "configs", "versions", "n-samples")
_OF_TASK = ("cells", "metadata", "repeats", "error", "generation_kwargs")
_KEPT = (*_BY_TASK, "config", "model_name", "chat_template_sha", "system_instruction_sha", "date")
_UNPACKED: list[tempfile.TemporaryDirectory[str]] = []
"""Folders that last as long as the program."""


def packed(runs: Sequence[Run]) -> bytes:
    """The file of these runs. UsageError for runs without samples, and for those put together."""
    files: dict[str, str] = {}
    for i, results in enumerate(dict.fromkeys(run.results for run in runs)):
        of = [run for run in runs if run.results == results]
        for run in of:
            if run.parts or not run.samples:
                raise UsageError(
                    f"{run.task} of {run.model} cannot be saved: "
                    + ("it was put together" if run.parts else "run it with --log_samples")
                )
            for path in run.samples:
                files[f"{i}/{path.name}"] = "".join(f"{line}\n" for line in _small(path))
        files[f"{i}/{results.name}"] = json.dumps(_results(json_of(results), {r.task for r in of}))
    content = json.dumps({_MARK: 1, "files": files})
    if len(content) > FILE:
        raise UsageError(
            f"these runs make a baseline of more than {FILE >> 20} MB; save fewer tasks"
        )
    return lzma.compress(content.encode())


def _results(content: Mapping[str, Any], tasks: set[str]) -> dict[str, Any]:
    kept = {key: content[key] for key in _KEPT if key in content}
    for key in _BY_TASK:
        if isinstance(kept.get(key), dict):
            # GROUP::TASK in 0.5
            kept[key] = {k: v for k, v in kept[key].items() if k.rpartition("::")[2] in tasks}
    for name, config in kept["configs"].items():
        kept["configs"][name] = {key: config[key] for key in _OF_TASK if key in config}
    return kept


def _small(samples: Path) -> Iterator[str]:
    for number, line in lines(samples):
        sample = loads(line)
        records = sample["records"]
        if any("error" in of for of in (records if isinstance(records, list) else [records])):
            raise UsageError(f"{samples}, line {number}: its record is not whole; run it again")
        prompt, settings = asked(sample)
        yield json.dumps(
            {
                "doc_id": sample.get("doc_id"),
                "doc_hash": sample["doc_hash"],
                "prompt_hash": prompt,
                "arguments": [json.loads(settings)] if settings else [],
                "records": records,
            }
        )


def unpacked(path: Path) -> Path:
    """A folder with its runs. Raises Unreadable."""
    try:
        reader = lzma.LZMADecompressor(memlimit=2**28)
        content = reader.decompress(content_of(path), max_length=FILE + 1)
        if len(content) > FILE or not reader.eof:
            raise Unreadable(path, f"it is cut off, or holds more than {FILE >> 20} MB")
        files = loads(content)["files"]
        assert all(isinstance(text, str) for text in files.values())
    except (lzma.LZMAError, ValueError, KeyError, TypeError, AttributeError, AssertionError):
        raise Unreadable(path, "it is no baseline that `lm-eval-bias gate --save` wrote") from None
    folder = tempfile.TemporaryDirectory(prefix="lm-eval-bias-")
    _UNPACKED.append(folder)
    for name, text in files.items():
        parts = PurePosixPath(name).parts
        if len(parts) != 2 or not parts[0].isdigit() or "\0" in name:
            raise Unreadable(path, f"it names a file {name!r}")
        writing.whole(Path(folder.name, *parts), text)
    return Path(folder.name)
