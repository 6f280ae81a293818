"""Lower bounds on the privacy loss of any learner, from its outputs on neighbouring tables."""
