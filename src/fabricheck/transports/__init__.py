"""How data travels: one table of settings and proofs for each MPI family and transport."""
