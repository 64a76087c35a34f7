"""Leaderboard: how often it tells equal models apart.

Ten models of the same true number, in the world of `gate`. Unpaired, each has documents of its own;
paired, all have the same documents and differ by theme. A cell is the percentage of tables in which
any two models differ significantly.
"""

from functools import partial
from itertools import product

from outcome import Outcomes, Rng, Rows
from worlds.gate import MEASURE, OF_MODEL, answered, questions, run_of

from lm_eval_bias.results.leaderboard import board
from lm_eval_bias.results.runs import Runs
from lm_eval_bias.results.samples import Answers, Document

MODELS, GAP = 10, 20.0


def rows() -> Rows:
    for themes, paired in product((10, 24), (False, True)):
        yield f"{themes} themes, {'' if paired else 'un'}paired", partial(table, themes, paired)


def table(themes: int, paired: bool, rng: Rng) -> Outcomes:
    documents = questions(rng, themes)
    answers, runs = {}, []
    for name in map(str, range(MODELS)):
        asked = documents if paired else questions(rng, themes)
        records = answered(rng, asked, GAP, rng.normal(0, OF_MODEL, themes))
        answers[name] = Answers(
            MEASURE,
            {str(i): Document(str(i), "", [record]) for i, record in enumerate(records)},
            {},
        )
        run = run_of(records, name)
        runs.append(run._replace(samples=(run.results,)))
    read = (lambda run: answers[run.model]) if paired else None
    ((column,),) = (
        section.columns for section in board(Runs(runs, []), ["gap"], None, read).sections
    )
    entries = column.entries.values()
    return {"significantly different": any(entry.rank != (1, MODELS) for entry in entries)}
