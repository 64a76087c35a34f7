"""StereoMap: the tables and figures of the paper that a report shows of a run."""

from __future__ import annotations

from lm_eval_bias.exhibit import Exhibit


def generated(part: str) -> tuple[Exhibit, ...]:
    """Of answers in words; part: original, extended, structure, emotion, behavior."""
    return ()


def likelihood(part: str) -> tuple[Exhibit, ...]:
    """Of ratings by likelihood."""
    return ()
