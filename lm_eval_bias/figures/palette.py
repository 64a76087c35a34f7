"""Colours of series.

They have a contrast of at least 3:1 on white and on the dark page (#1c1c1b). Neighbours differ
by 20 in CIELAB or more, also for colour-blind eyes (Machado, Oliveira and Fernandes 2009).
"""

# Seven, since there are eight shapes: so 56 series differ.
COLOURS = ("#2f74c8", "#d2550a", "#7d8089", "#c061b8", "#5a8a2a", "#4f93d8", "#a05a4a")
INK = "currentColor"
"""The colour of the page's text."""
