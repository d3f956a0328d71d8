"""What `dvc.yaml` is made of: the steps of the pipeline, the code each imports and the settings each reads."""
