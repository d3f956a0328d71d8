"""Group disparities and their uncertainty."""
