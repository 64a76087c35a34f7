"""StereoMap: warmth and competence of social groups."""
