"""Statistics of the bias benchmarks; numpy and scipy only, usable without lm_eval."""
