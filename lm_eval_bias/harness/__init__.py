"""Everything that touches lm_eval."""
