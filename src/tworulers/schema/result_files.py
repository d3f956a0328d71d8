"""What the files of results are called, each spelled once."""

COHORT = "cohort.parquet"
SPLITS = "splits.parquet"
PLANS = "plans.json"
DATASET = "dataset.json"
"""Which channels and labels plans are for, under nnU-Net's name."""

CHOICE = "choice.json"
LABELS = "labels"
"""The folder of the label maps of an annotation or a prediction."""

CONFIDENCE = "confidence.parquet"
INFERENCE = "inference.json"
"""How the label maps beside it were predicted, where not as recipe and trainer say."""

SCORES = "scores.parquet"
BEYOND = "beyond.parquet"
"""Scores of test exams without an expert label, by a ruler made of predictions."""

SUMMARY = "summary.json"
"""The numbers of a result that MLflow shows as metrics."""

VOLUMES = "volumes.parquet"
FAULTS = "faults.json"
REFERENCES = "references"
"""The folder of further label maps that data ship for their exams, below that of the source."""

CARD = "card.md"
"""One page of a report with the fields of a model card."""

COUNTED = "metrics.json"
"""Counts of answers and means of scores in a report, which `dvc metrics` shows."""

GROUP_SCORES, CURVES = "scores.csv", "curves.csv"
"""Scores by group, and how folds learnt, in a report, which `dvc plots` shows."""
