"""What a model tells about the rows it was learned from, measured by those who hold the rows."""

from hedgerow.audit.attacks import Attack, Attempt, LabelOnlyAttack, RandomForestAttack
from hedgerow.audit.leaves import Leaves
from hedgerow.audit.membership import membership
from hedgerow.audit.overfit import Overfit, overfit
from hedgerow.audit.roc import Membership

__all__ = [
    "Attack",
    "Attempt",
    "LabelOnlyAttack",
    "Leaves",
    "Membership",
    "Overfit",
    "RandomForestAttack",
    "membership",
    "overfit",
]
