"""Studies: three papers' figures and tables reproduced, sets of models, the width draw. Seeded, so not private."""

from studies.expril.study import reproduce_expril
from studies.pdr.study import reproduce_pdr
from studies.ssrl.study import reproduce_ssrl

__all__ = ["reproduce_expril", "reproduce_pdr", "reproduce_ssrl"]
