"""Finished runs -> what a person reads. Works on stored files and calls no model; names of models
and what they wrote are untrusted."""
