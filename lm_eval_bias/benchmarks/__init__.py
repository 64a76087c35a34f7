"""A folder for each benchmark: documents before the model, measure and exhibits after it, items/
with its data."""
