"""Convert results to third-party formats."""
