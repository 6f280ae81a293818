"""PDR reproduced."""
