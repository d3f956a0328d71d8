"""Every sentence that is said of results, made from their facts."""
