"""Statistics of the bias benchmarks: numpy and scipy only, no harness, no model.

Someone with a table of model answers can call these functions without lm_eval being installed.
"""
