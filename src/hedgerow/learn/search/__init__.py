"""Search over all models: the lattice of conjunctions and its recursion."""
