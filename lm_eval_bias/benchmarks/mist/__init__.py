"""MIST: word association and affective attribution."""
