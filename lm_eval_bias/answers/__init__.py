"""Readers of model answers: text -> answer, a file for each kind. No reader raises an error for
a text."""
