"""The learner's side of a curator's service."""
