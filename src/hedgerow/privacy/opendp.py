"""The parts of OpenDP from which mechanisms are built.

``opendp.prelude`` would also import scikit-learn and Polars, for parts that are not used here.
"""

from opendp import combinators as c
from opendp import measurements as m
from opendp.domains import atom_domain, vector_domain
from opendp.measures import max_divergence, zero_concentrated_divergence
from opendp.metrics import l1_distance, l2_distance, linf_distance
from opendp.mod import Measurement, enable_features

enable_features("contrib")

__all__ = [
    "Measurement", "atom_domain", "c", "l1_distance", "l2_distance", "linf_distance", "m", "max_divergence",
    "vector_domain", "zero_concentrated_divergence",
]  # fmt: skip
