"""Results files in which anything may stand: what is read of them reaches every format, or is told;
nothing else happens."""

import json
import random
import warnings
from math import nan

import pytest

from lm_eval_bias.export import hub as export_hub
from lm_eval_bias.export import records as export_records
from lm_eval_bias.export.numbers import chosen
from lm_eval_bias.usage import UsageError
from tests.export.test_records import VALID
from tests.gate.judged import found as runs_in
from tests.gate.judged import run_of
from tests.hostile import changed

VALUES = {
    "gap": (-6.0, 2.0, 0, None),
    "share": (12.5, 2.0, None, "lower"),
    "lost": (nan, nan, 0, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_results_file_breaks_what_is_made_of_it(tmp_path, seed):
    facts = {"metadata": {"order": "both"}, "date": 1.0, "lm_eval_version": "0.4.13"}
    path = run_of(tmp_path, "org/model", VALUES, ends={"gap": (-9.0, -3.0)}, **facts)
    content, chance = json.loads(path.read_text()), random.Random(seed)
    for _ in range(chance.randint(1, 3)):
        changed(content, chance)
    path.write_text(json.dumps(content))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of numpy, for infinite numbers
        try:
            found = runs_in(tmp_path)
        except UsageError:
            return
        results, left = chosen(found.runs)
        "\n".join(left).encode()
        entries, _ = export_hub.entries(results, "org/bench")
        once = export_hub.text(entries)
        assert export_hub.text(entries, export_hub.standing(once)) == once
        for path, record in export_records.records(results)[0].items():
            json.dumps(record, allow_nan=False)
            assert VALID.is_valid(record) and ".." not in path.parts
