"""Studies: the figures and tables of papers, reproduced. Researchers' tools: their noise is seeded, not private."""

from hedgerow.studies.expril.study import reproduce_expril
from hedgerow.studies.pdr.study import reproduce_pdr
from hedgerow.studies.ssrl.study import reproduce_ssrl

__all__ = ["reproduce_expril", "reproduce_pdr", "reproduce_ssrl"]
