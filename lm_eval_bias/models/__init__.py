"""Model types for the harness."""
