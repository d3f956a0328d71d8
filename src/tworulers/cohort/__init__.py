"""Who is in the study: exams, groups, splits and their description."""
