"""Finished runs -> what a person reads. Works on stored files and calls no model."""
