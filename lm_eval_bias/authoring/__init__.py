"""Write and review new items."""
