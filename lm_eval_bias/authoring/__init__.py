"""Write new items."""
