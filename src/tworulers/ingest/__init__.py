"""Files made elsewhere to the one cohort table, refusing what is wrong."""
