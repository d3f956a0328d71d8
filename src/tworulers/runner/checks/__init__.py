"""Whether a command may run: what it names, composes and overrides is looked at before anything is done."""
