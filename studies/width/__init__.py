"""Study of the width draw: an exact private draw that need not look at models far from the optimum."""
