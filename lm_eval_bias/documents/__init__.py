"""Before the model: items -> documents. One module for each benchmark; what is asked is decided here, what it amounts to in measures/."""
