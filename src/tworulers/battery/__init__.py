"""The audit of one model by one ruler."""
