"""Studies: the figures and tables of papers, measured again. Researchers' tools: their noise is seeded, not private."""

from hedgerow.studies.expril.study import expril
from hedgerow.studies.pdr.study import reconstruction
from hedgerow.studies.ssrl.study import smooth_sensitivity

__all__ = ["expril", "reconstruction", "smooth_sensitivity"]
