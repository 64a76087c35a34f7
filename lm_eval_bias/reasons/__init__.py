"""The reasons that models give for their ratings: their key phrases and their diversity."""
