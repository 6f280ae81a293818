"""Private sets of trees: several trees drawn from one table, one after the other, and how much they differ."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from math import prod

import numpy as np

from hedgerow.boundary.arguments import RandomState
from hedgerow.boundary.arrays import Floats, Mask
from hedgerow.errors import ArgumentError
from hedgerow.learn.base import MAX_DEPTH, check_up_to
from hedgerow.learn.learned import LeafValues, leaves_of, tree_model
from hedgerow.learn.search.lattice import value_of
from hedgerow.learn.search.space import Space
from hedgerow.models.caveats import box_of
from hedgerow.models.tree import Tree
from hedgerow.privacy.amounts import Amount, exact
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.card import SOFTWARE, PrivacyCard
from hedgerow.privacy.facts import fact
from hedgerow.privacy.gate import Gate, spend
from hedgerow.privacy.noise import NoiseSource, noise_source
from hedgerow.privacy.stop_prior import STOP_RULE
from hedgerow.schema.booleans import learning_problems
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from lab.tree_sets.search import MOST_MODELS, Node, SetSearch, TreeSampler

_TOO_LARGE = "Use a smaller max_depth, fewer attributes, values or cut points."


def set_search(schema: Schema, epsilon: Amount, n_models: int, max_depth: int) -> SetSearch:
    """Return the search that draws each of `n_models` trees for ε/n_models; refuse one that is impossible."""
    check_up_to("n_models", n_models, 1, MOST_MODELS)
    check_up_to("max_depth", max_depth, 0, MAX_DEPTH)
    if schema.unit is not None or schema.weight is not None:
        raise ArgumentError("sets of trees protect single rows: expected a schema without a unit and without a weight.")
    for problem in learning_problems(schema):
        raise problem
    schema.classes  # noqa: B018 -- raises SchemaError if the target is a number
    space = Space.of_trees(schema)
    prior = STOP_RULE.prior(exact(epsilon, "epsilon") / n_models)
    search = SetSearch(space, min(max_depth, space.n_options), prior)
    search.cost.check(_TOO_LARGE)
    if not search.has(n_models):
        raise ArgumentError(f"n_models={n_models} exceeds the number of trees of this depth, {int(search.n_trees):,}.")
    return search


def draw_trees(
    tally: Tally,
    epsilon: Amount,
    n_models: int = 5,
    *,
    max_depth: int = 3,
    budget: Budget | None = None,
    random_state: NoiseSource | RandomState = None,
) -> tuple[Tree, ...]:
    """Draw several decision trees and release them together under pure ε-differential privacy.

    Neighbouring tables differ by adding or removing one row. The trees, with their labels, are drawn one after the
    other by the exponential mechanism from all trees except those drawn before, with score −errors (monotone,
    sensitivity 1), each for ε/n_models (basic composition, adaptive). No test has two leaves with the same label, so
    no tree is drawn twice; two trees may still predict the same by different tests, which `differences` shows. Only
    labels are released, no counts.

    The first tree is as accurate as a single tree drawn for ε/n_models, later trees are less accurate. Within ε a set
    can disclose up to hundreds of times more than as many independent draws (docs/studies/sets.md): to release one
    tree, draw one with `hedgerow.PrivateTreeClassifier`.

    Parameters
    ----------
    tally : Tally
        The private table; its schema is public, and has neither a unit nor a weight.
    epsilon : number
        Privacy loss of all trees together.
    n_models : int, default=5
        Number of trees, at most 100 and at most as many as exist.
    max_depth : int, default=3
        Largest number of tests on a path. The search is exact, and refused before the charge if it is too large.
    budget : Budget, optional
        A shared budget, which each draw is charged to.
    random_state : optional
        Seed of the noise, for tests: it voids the guarantee.

    Returns
    -------
    tuple of Tree
        The trees in the order in which they were drawn. Each carries the card of the whole set.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import Boolean, Label, Schema
    >>> schema = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> first, second = draw_trees(Tally.count(X, X[:, 0], schema), 4.0, 2, max_depth=1)
    >>> print(first)
    if a: 1
    else: 0
    """
    schema, total = tally.schema, exact(epsilon, "epsilon")
    search = set_search(schema, epsilon, n_models, max_depth)
    each, noise = search.draw(total / n_models), noise_source(random_state)
    noise.prepare(each)

    @cache
    def sampler() -> TreeSampler:
        return TreeSampler(tally, search)

    def drawn(gate: Gate) -> tuple[Tree, ...]:
        before = len(gate.budget.charges)
        purpose = f"draw of a tree of depth up to {search.depth} with its labels, one of {n_models} different trees"
        trees: list[Node] = [gate.release(each, sampler, query=purpose) for _ in range(n_models)]
        charges = (*schema.charges, *gate.budget.charges[before:])
        card = PrivacyCard(charges, noise=fact(noise.description, "noise", "description"), software=SOFTWARE)
        result = [LeafValues(values=[value_of(leaf) for leaf in leaves_of(tree)]) for tree in trees]
        return tuple(tree_model(search.space, *each)(schema, card) for each in zip(trees, result, strict=True))

    if budget is not None:
        budget.check(total, 0, rho=n_models * each.rho)
    return spend(Budget(total) if budget is None else budget, noise, drawn)


def differences(trees: Sequence[Tree]) -> Floats:
    """Return the share of all possible rows for which two trees predict differently, ``(n_trees, n_trees)``.

    All combinations of bins count alike; 0 if two trees predict the same for every row. No row is read.
    """
    n_bins = {name: attribute.n_bins for name, attribute in trees[0].schema.attributes}
    predictions = [np.array(tree.predictions, dtype=object) for tree in trees]
    boxes = [_leaf_boxes(tree, n_bins) for tree in trees]
    shares = np.zeros((len(trees), len(trees)))
    for i, j in combinations(range(len(trees)), 2):  # the boxes of a leaf of each meet in a share of all rows
        overlaps = prod(boxes[i][name] @ boxes[j][name].T / n_bins[name] for name in n_bins)
        shares[i, j] = shares[j, i] = (overlaps * (predictions[i][:, None] != predictions[j])).sum()
    return shares


def _leaf_boxes(tree: Tree, n_bins: Mapping[str, int]) -> dict[str, Floats]:
    """Return which bins of each attribute reach each leaf, as 0 and 1: ``(n_leaves, n_bins)``."""
    boxes: list[dict[str, Mask]] = [box_of(tree.schema, path) for path in tree.paths]
    return {name: np.array([box.get(name, np.ones(n)) for box in boxes], dtype=float) for name, n in n_bins.items()}
