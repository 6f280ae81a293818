"""Every way to search draws by the prior of each depth: against a list of all models of fixed small spaces."""

from functools import cache

import pytest

from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.lattice import exhaustive_levels
from hedgerow.learn.search.pairs import Pairs
from hedgerow.learn.search.sampler import Draw, ModelSampler
from hedgerow.learn.search.space import Space
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Boolean, Categorical
from tests.learn.draws import plan_of, quiet
from tests.learn.enumerate_models import Models, Table, all_worlds, chance, executions, list_space, schema_of
from tests.learn.search.known_chances import check

TWO, OF_THREE = schema_of(Boolean(), Boolean()), schema_of(Categorical(("a", "b", "c")))
PRIOR = StopPrior(start=-1.0, slope=0.5, curve=1.25)
WEIGHT = 0.25


def masks(found):
    return exhaustive_levels(found.space, found.depth)


def boxes(found):
    return Boxes.of(found.space, found.depth)


def pairs(found):
    return Pairs.of(found.space, found.depth)


CASES = {
    "trees by masks": (Space.of_trees(TWO), 2, "errors", masks),
    "trees by boxes": (Space.of_trees(TWO), 2, "errors", boxes),
    "trees of three bins by masks": (Space.of_trees(OF_THREE), 2, "errors", masks),
    "trees of three bins by boxes": (Space.of_trees(OF_THREE), 2, "errors", boxes),
    "trees by another loss by masks": (Space.of_trees(OF_THREE), 2, "absolute", masks),
    "trees by another loss by boxes": (Space.of_trees(OF_THREE), 2, "absolute", boxes),
    "lists by masks": (list_space(TWO, negations=False), 2, "errors", masks),
    "lists by boxes": (list_space(OF_THREE, negations=False), 3, "errors", boxes),
    "lists by pairs": (list_space(TWO, 2, negations=False), 2, "errors", pairs),
    "lists by pairs and another loss": (list_space(TWO, 2, negations=False), 2, "absolute", pairs),
}


def case(name, offset=0):
    space, depth, objective, states = CASES[name]
    result = Models(space, depth, objective=objective, by_depth=PRIOR.below(offset))
    worlds = all_worlds(result.schema)
    return result, Table(result.schema, tuple((w, i % 2, 2 * i + 1) for i, w in enumerate(worlds))), states(result)


def as_drawn(found, table, states):
    """The log-probability of every model, from what a draw is offered at each choice."""
    sampler = ModelSampler(table.tally, plan_of(found), states, quiet)
    sampler._models = cache(sampler._models)
    return {model: chance(draws) for model, draws in executions(lambda choose: sampler.sample(WEIGHT, choose))}


@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("name", CASES)
def test_every_model_is_drawn_with_its_exact_probability(name, offset):
    result, table, states = case(name, offset)
    expected, drawn = result.log_probabilities(table, WEIGHT), as_drawn(result, table, states)
    assert drawn.keys() == expected.keys()
    assert list(drawn.values()) == pytest.approx([float(expected[model]) for model in drawn], abs=1e-10)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.claim("The draw is therefore $w$-differentially private for any public prior")
def test_one_row_changes_no_log_probability_by_more_than_the_weight(name):
    result, table, states = case(name)
    item, worlds = as_drawn(result, table, states), all_worlds(result.schema)
    losses = []
    for world in worlds:
        other = as_drawn(result, table.plus(world, 0), states)
        losses.append(max(abs(item[model] - other[model]) for model in item))
    assert WEIGHT / 2 < max(losses) <= WEIGHT + 1e-10


@pytest.mark.parametrize("name", [name for name in CASES if "pairs" not in name])
def test_the_chances_of_a_draw_are_those_of_all_models(name):
    result, table, states = case(name, offset=1)
    check(result, table, WEIGHT, states)


def test_these_cases_depend_on_the_prior_of_every_depth():
    result, table, _ = case("trees by masks")
    weights = result.log_probabilities(table, WEIGHT)
    for other in (PRIOR.below(1), StopPrior(-1.0, 0.5), StopPrior(-1.0), StopPrior(-1.0, 0.5, 1.0)):
        different = Models(result.space, result.depth, by_depth=other).log_probabilities(table, WEIGHT)
        assert max(abs(float(weights[model] - different[model])) for model in weights) > 0.01


def test_a_size_is_not_drawn_if_the_prior_depends_on_the_depth():
    with pytest.raises(ValueError, match="draws_size needs a prior"):
        Draw(Space.of_trees(TWO), 2, PRIOR, draws_size=True)
    assert Draw(Space.of_trees(TWO), 2, StopPrior(-1.0), draws_size=True).sizes == range(3)
