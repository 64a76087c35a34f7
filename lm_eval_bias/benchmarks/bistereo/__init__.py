"""BIStereo: body-image stereotypes in sentence pairs, entailment and analogies."""
