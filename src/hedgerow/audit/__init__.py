"""Audits of the disclosure of training rows by a model, for the holders of these rows."""

from hedgerow.audit.attack_record import AttackMeasure, AttackRecord, AttackResult
from hedgerow.audit.attack_subject import AttackSubject
from hedgerow.audit.counting.regions import Region
from hedgerow.audit.empirical.epsilon import EmpiricalEpsilon, empirical_epsilon
from hedgerow.audit.empirical.learner import worst_neighbours
from hedgerow.audit.empirical.one_run import OneRunEpsilon, one_run_epsilon
from hedgerow.audit.entropy.domain import Domain
from hedgerow.audit.entropy.measure import joint_reconstruction, reconstruction
from hedgerow.audit.entropy.result import Reconstruction
from hedgerow.audit.entropy.totals import TotalEntropy, totals
from hedgerow.audit.entropy.unlinked import UnlinkedReconstruction, unlinked_reconstruction
from hedgerow.audit.entropy.values import Values
from hedgerow.audit.exact.inference import ExactInference, exact_inference
from hedgerow.audit.exact.membership import ExactMembership, TradeOff, exact_membership
from hedgerow.audit.inference.attacks import Attack, Attempt, LabelOnlyAttack, RandomForestAttack
from hedgerow.audit.inference.ensemble_risk import EnsembleRisk, MemberLeaves
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.inference.leaf_risk import LeafRisk, leaf_risk
from hedgerow.audit.inference.likelihood_ratio import OfflineLira, OfflineRmia, OnlineLira, Rmia
from hedgerow.audit.inference.membership import Membership, membership
from hedgerow.audit.inference.overfitting import Leaves, Overfit, overfit
from hedgerow.audit.inference.shadow_membership import ShadowMembership, lira
from hedgerow.audit.inference.targets import ShadowAttack, Shadows
from hedgerow.audit.probabilistic.dataset import ProbabilisticDataset, align
from hedgerow.audit.probabilistic.row import RowDistribution
from hedgerow.audit.readers.ensembles import trees_of
from hedgerow.audit.readers.paths import HasRegions, Paths
from hedgerow.audit.readers.stored import stored_contents
from hedgerow.models.extra_contents import Content

__all__ = [
    "Attack", "AttackMeasure", "AttackRecord", "AttackResult", "AttackSubject", "Attempt", "Content", "Domain",
    "EmpiricalEpsilon", "EnsembleRisk", "ExactInference", "ExactMembership", "HasRegions", "LabelOnlyAttack",
    "LabelledRows", "LeafRisk", "Leaves", "MemberLeaves", "Membership", "OfflineLira", "OfflineRmia", "OneRunEpsilon",
    "OnlineLira", "Overfit", "Paths", "ProbabilisticDataset", "RandomForestAttack", "Reconstruction", "Region",
    "Rmia", "RowDistribution", "ShadowAttack", "ShadowMembership", "Shadows", "TotalEntropy", "TradeOff",
    "UnlinkedReconstruction", "Values",
    "align", "empirical_epsilon", "exact_inference", "exact_membership", "joint_reconstruction", "leaf_risk", "lira",
    "membership", "one_run_epsilon", "overfit", "reconstruction", "stored_contents", "totals", "trees_of",
    "unlinked_reconstruction", "worst_neighbours",
]  # fmt: skip
