"""What changing the ruler does to an audit."""
