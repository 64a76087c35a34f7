"""Measures of bias tasks of the harness: their records are made from samples that are there."""
