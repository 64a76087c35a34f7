"""The reasons that models give for their ratings: out of stored samples, cleaned, their key
phrases, their diversity."""
