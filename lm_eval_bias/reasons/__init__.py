"""The reasons that models give for ratings: key phrases and diversity."""
