"""Rules on numbers, and verdicts."""
