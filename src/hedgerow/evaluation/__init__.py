"""Private evaluation of a model on held-out rows: a noisy histogram, and the measures computed from it."""

from hedgerow.evaluation.evaluate import evaluate
from hedgerow.evaluation.evaluation import Estimate, Evaluation

__all__ = ["Estimate", "Evaluation", "evaluate"]
