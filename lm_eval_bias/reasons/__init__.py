"""The reasons that models give for ratings (StereoMap, Tables 3, 10 and 14)."""
