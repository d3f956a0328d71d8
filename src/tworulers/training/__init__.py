"""Networks on files: images and labels prepared, folds trained, ensembles chosen and put to work."""
