"""The risk appetite of a project: the thresholds by which checks decide."""

from dataclasses import dataclass

from hedgerow.audit.inference.leaf_risk import FEWEST_SAFE_ROWS
from hedgerow.boundary.arguments import check_integer


@dataclass(frozen=True)
class Appetite:
    """The thresholds of a report's checks. The defaults are those of the sources that `Check.source` names.

    Parameters
    ----------
    fewest_rows : int, default=10
        The fewest rows, or units, of a leaf or a bin that pass.
    strong_epsilon, largest_epsilon : float, default=1 and 10
        Up to the first ε a guarantee passes; up to the second it needs review; above it fails.
    dominance : float, default=0.1
        The share to within which nobody may be able to tell the number of one row by the sum of its leaf.
    most_guessed : float, default=0.55
        The largest share of right guesses of membership, or AUC, that passes; guessing has 0.5.
    largest_deficit : float, default=0.1
        The largest deficit of a group, compared with a constant prediction, that passes: in accuracy, or as a share of
        the constant's mean cost or error.

    Examples
    --------
    >>> Appetite(fewest_rows=20).fewest_rows
    20
    """

    fewest_rows: int = FEWEST_SAFE_ROWS
    strong_epsilon: float = 1
    largest_epsilon: float = 10
    dominance: float = 0.1
    most_guessed: float = 0.55
    largest_deficit: float = 0.1

    def __post_init__(self) -> None:
        check_integer("fewest_rows", self.fewest_rows, 1)


DEFAULT = Appetite()
