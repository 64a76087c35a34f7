"""After the model: answers -> records, records -> numbers. One module for each benchmark; none of them looks back at the items."""
