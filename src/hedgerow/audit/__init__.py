"""Audits of what a model discloses about its training rows, for those who hold the rows."""

from hedgerow.audit.entropy.measure import joint_reconstruction, reconstruction
from hedgerow.audit.entropy.result import Reconstruction
from hedgerow.audit.inference.attacks import Attack, Attempt, RandomForestAttack
from hedgerow.audit.inference.label_only import LabelOnlyAttack
from hedgerow.audit.inference.leaves import Leaves
from hedgerow.audit.inference.overfitting import Overfit, overfit
from hedgerow.audit.inference.roc import Membership
from hedgerow.audit.inference.trials import membership
from hedgerow.audit.probabilistic.dataset import ProbabilisticDataset
from hedgerow.audit.probabilistic.learner import LearnerKnowledge, given_learner
from hedgerow.audit.probabilistic.matching import align
from hedgerow.audit.probabilistic.possible_worlds import PossibleWorlds
from hedgerow.audit.readers.paths import HasRegions
from hedgerow.audit.readers.read import trees_of

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
