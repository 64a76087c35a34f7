"""Finished runs, read back from the files that the harness wrote."""
