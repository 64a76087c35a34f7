"""Readers of model answers: text -> answer. One file for each kind of answer. No reader raises an
error, whatever the text."""
