"""Studies: three papers' figures and tables reproduced, and sets of models. Noise is seeded, so nothing is private."""

from studies.expril.study import reproduce_expril
from studies.pdr.study import reproduce_pdr
from studies.ssrl.study import reproduce_ssrl

__all__ = ["reproduce_expril", "reproduce_pdr", "reproduce_ssrl"]
