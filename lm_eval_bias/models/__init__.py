"""Model types: pseudo-log-likelihood, entailment, shared prefixes."""
