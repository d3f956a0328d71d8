"""The command `tworulers`: a word for each stage, short forms in the place of overrides, help that fits a screen."""
