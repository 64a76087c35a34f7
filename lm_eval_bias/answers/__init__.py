"""What a model wrote -> what it answered. A file for each kind of answer; none of the parsers ever
raises on a text."""
