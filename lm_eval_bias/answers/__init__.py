"""Readers of model answers: text -> answer. No reader raises an error for a text."""
