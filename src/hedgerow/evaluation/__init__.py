"""Private evaluation of a model on held-out rows: one noisy histogram, and what follows from it."""

from hedgerow.evaluation.evaluate import evaluate
from hedgerow.evaluation.evaluation import Estimate, Evaluation

__all__ = ["Estimate", "Evaluation", "evaluate"]
