"""BIStereo: the tables and figures of the paper that a report shows of a run."""

from __future__ import annotations

from lm_eval_bias.exhibit import Exhibit

PAIRS: tuple[Exhibit, ...] = ()
NLI: tuple[Exhibit, ...] = ()
NLI_GENERATED: tuple[Exhibit, ...] = ()
ANALOGY: tuple[Exhibit, ...] = ()
ANALOGY_GENERATED: tuple[Exhibit, ...] = ()
