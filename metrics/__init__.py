"""Statistics of the bias benchmarks; numpy, scipy, pandas only, usable without lm_eval."""
