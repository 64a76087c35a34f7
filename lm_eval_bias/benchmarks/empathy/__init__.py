"""The intergroup empathy gap."""
