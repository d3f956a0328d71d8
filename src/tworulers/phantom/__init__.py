"""The embedded cohort: people, images, experts' labels and the truth."""
