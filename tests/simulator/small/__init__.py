"""Small worlds, all of them: every interleaving of two supervisors, one job and one fault, not a sample."""
