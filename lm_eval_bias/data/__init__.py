"""Data files: a person's own, the authors' and ours."""
