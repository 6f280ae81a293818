"""Lower bounds of the privacy loss of any learner, from its outputs on neighbouring tables."""
