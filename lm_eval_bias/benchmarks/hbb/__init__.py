"""HBB: hidden bias."""
