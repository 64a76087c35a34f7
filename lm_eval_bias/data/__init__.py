"""Data files: a person's own, the authors' released ones, and those that this package ships."""
