"""What predictions are judged by: kinds of ruler, each a class."""
