"""What a model tells about the rows it was learned from, measured by those who hold the rows."""

from hedgerow.audit.adapters import trees_of
from hedgerow.audit.align import align
from hedgerow.audit.attacks import Attack, Attempt, LabelOnlyAttack, RandomForestAttack
from hedgerow.audit.exposure import Reconstruction
from hedgerow.audit.learner import LearnerKnowledge, given_learner
from hedgerow.audit.leaves import Leaves
from hedgerow.audit.membership import membership
from hedgerow.audit.overfit import Overfit, overfit
from hedgerow.audit.paths import HasRegions
from hedgerow.audit.possible import PossibleWorlds
from hedgerow.audit.probabilistic import ProbabilisticDataset
from hedgerow.audit.reconstruction import joint_reconstruction, reconstruction
from hedgerow.audit.roc import Membership

__all__ = [
    "Attack",
    "Attempt",
    "HasRegions",
    "LabelOnlyAttack",
    "LearnerKnowledge",
    "Leaves",
    "Membership",
    "Overfit",
    "PossibleWorlds",
    "ProbabilisticDataset",
    "RandomForestAttack",
    "Reconstruction",
    "align",
    "given_learner",
    "joint_reconstruction",
    "membership",
    "overfit",
    "reconstruction",
    "trees_of",
]
