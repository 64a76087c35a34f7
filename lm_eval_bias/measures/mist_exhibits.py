"""MIST: the tables and figures of the paper that a report shows of a run."""

from __future__ import annotations

from lm_eval_bias.exhibit import Exhibit

WABT: tuple[Exhibit, ...] = ()
WABT_LIKELIHOOD: tuple[Exhibit, ...] = ()
AAT: tuple[Exhibit, ...] = ()
AAT_LIKELIHOOD: tuple[Exhibit, ...] = ()
