"""StereoSet: the tables and figures of the paper that a report shows of a run."""

from __future__ import annotations

from lm_eval_bias.exhibit import Exhibit

SENTENCES: tuple[Exhibit, ...] = ()
CHOICE: tuple[Exhibit, ...] = ()
