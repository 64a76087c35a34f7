"""One module per benchmark: items -> documents, document and answer -> record, records -> summary."""
