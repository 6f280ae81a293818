"""What an exact private draw loses at most, on average, beside the best model of each size; of public numbers alone."""

from __future__ import annotations

from math import log

from hedgerow.learn.plans import Drawn
from hedgerow.learn.private_base import SearchEstimator
from hedgerow.learn.search.sampler import Draw
from hedgerow.learn.search.space import CAUGHT
from hedgerow.schema.schema import Schema


def excess_bounds(estimator: SearchEstimator, schema: Schema) -> tuple[float, ...]:
    """Return, by size, how much more than the best model up to that size a draw loses, on average, at most.

    A draw has probability π(m)·exp(−w·loss(m))/Z. Of all distributions it is the one that minimises the mean loss plus
    1/w of the divergence from the prior (the variational formula of Donsker and Varadhan), so that for every model m,
    whatever the rows: mean loss ≤ loss(m) + ln(1/π(m))/w.

    Examples
    --------
    >>> from hedgerow.learn import PrivateTreeClassifier
    >>> from hedgerow.schema import Boolean, Label
    >>> schema = Schema({"smoker": Boolean(), "fever": Boolean()}, Label("ill", ("no", "yes")))
    >>> [round(most, 1) for most in excess_bounds(PrivateTreeClassifier(epsilon=1, max_depth=1), schema)]
    [2.2]
    """
    estimator.check_public()
    plan = estimator._plan(schema)  # pyright: ignore[reportPrivateUsage] -- for this room, not for users
    if not isinstance(plan, Drawn) or len(plan.draw.blocks) > 1:
        return ()
    draw = plan.draw.block(0)
    weight = float(plan.mechanism.weight)
    return tuple(surprise(draw, size) / weight for size in draw.sizes)


def surprise(draw: Draw, size: int) -> float:
    """Return ``ln(1/π)`` at most, of some model that predicts as any one of up to `size` does.

    Any model becomes one of the full size where tests whose leaves agree, or rules with the label of the default, are
    added; where the schema leaves no option open, the model ends at no cost.
    """
    values, options = len(draw.loss.values), max(draw.space.n_options, 1)
    positions, leaves = (2**size - 1, 2**size) if CAUGHT in draw.space.branches else (size, size + 1)
    of_size = log(len(draw.sizes))
    return of_size + positions * (log(options) - log(1 - draw.stop_probability)) + leaves * log(values)
