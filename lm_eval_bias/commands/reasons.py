"""`lm-eval-bias reasons`: what models give as reasons for their ratings, out of stored samples."""

import argparse
import json
from pathlib import Path
from typing import Any

from lm_eval_bias import writing
from lm_eval_bias.data.bounds import json_of
from lm_eval_bias.reasons import answers, diversity, key_phrases
from lm_eval_bias.results.escape import visible
from lm_eval_bias.results.samples import at, mapping
from lm_eval_bias.usage import UsageError

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""The embedding model of the paper, section 3.2."""
ITEM = "economic"
"""How economically successful a group is: the paper's Tables 3 and 10 are of these answers."""


DESCRIPTION = """Print the most common key phrases (KeyBERT) of a model's reasons for how
economically successful social groups are, and those of each cluster of groups. The group becomes
'they'. It needs the extra: pip install 'lm-eval-bias[reasons]'."""


def add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("samples", help="samples_TASK_*.jsonl", metavar="SAMPLES", nargs="+", type=Path)
    add(
        "--clusters",
        help="the results file of a run with clusters of groups",
        metavar="RESULTS",
        type=Path,
    )
    add(
        "--diversity",
        help="Self-BLEU and entropy by prompt style instead, of reasons for all ratings",
        action="store_true",
    )
    add(
        "--output",
        help="write the table as .json, for `lm-eval-bias report` too",
        metavar="FILE",
        type=Path,
    )


def run(arguments: argparse.Namespace) -> int:
    output = arguments.output
    if output and output.suffix != ".json":
        raise UsageError(f"--output {output}: expected a file .json")
    writing.check("--output", output)
    found = answers(arguments.samples, "" if arguments.diversity else ITEM)
    if arguments.diversity:
        name, table = "diversity", diversity(found)
    else:
        clusters = clusters_in(arguments.clusters) if arguments.clusters else {}
        name, table = "phrases", key_phrases(found, keybert(), clusters)
    print(table.round(3).map(visible).to_string(index=False))
    if output:
        # `lm-eval-bias report` recognises the file by its first key.
        files = [path.name for path in arguments.samples]
        writing.whole(output, json.dumps({"reasons_of": files, name: table.to_dict("records")}))
    return 0


def clusters_in(path: Path) -> dict[str, str]:
    """group -> cluster in a results file or the output of `merge`; UsageError without any."""
    clusters = {
        at(row, "group"): name
        for config in mapping(json_of(path), "configs").values()
        for row in at(config, "cells", "groups") or ()
        if (name := at(row, "cluster"))
    }
    if not clusters:
        raise UsageError(
            f"{path} has no clusters; give the results of a run that rates warmth and competence"
        )
    return clusters


def keybert() -> Any:
    try:
        from keybert import KeyBERT

        return KeyBERT(MODEL)
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"cannot load KeyBERT with {MODEL} ({visible(error)[:160]}); run: pip install "
            "'lm-eval-bias[reasons]'; the model comes from the hub or its cache (HF_HOME)"
        ) from error
