"""Studies: the figures and tables of papers, measured again. Researchers' tools: their noise is seeded, not private."""

from hedgerow.studies.expril import expril
from hedgerow.studies.reconstruct_study import reconstruction
from hedgerow.studies.smooth_sensitivity import smooth_sensitivity

__all__ = ["expril", "reconstruction", "smooth_sensitivity"]
