"""The AUC matrix of a risk score, its intervals, metrics and uses."""
