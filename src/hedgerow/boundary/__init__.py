"""The trust boundary: bounded parsing of untrusted input, and arithmetic in which rows do not affect each other."""
