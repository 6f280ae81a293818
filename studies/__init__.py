"""Studies: reproductions of the figures and tables of three papers. Their noise is seeded, so they are not private."""

from studies.expril.study import reproduce_expril
from studies.pdr.study import reproduce_pdr
from studies.ssrl.study import reproduce_ssrl

__all__ = ["reproduce_expril", "reproduce_pdr", "reproduce_ssrl"]
