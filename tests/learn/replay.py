"""Record what a private learner asks of its noise source, and replay the answers on a neighbouring table.

A learner is private by composition if, with every noisy answer frozen, it does the same things on a neighbouring table,
and the true answers it noises differ by no more than the sensitivity it declares. Both are checked on every call.
"""

from dataclasses import dataclass, field

from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.conjunctions import Outcomes
from hedgerow.learn.search.pairs import Pairs
from hedgerow.learn.search.sampler import ModelSampler
from hedgerow.privacy.noise import GaussianCounts, Siblings


def kept(values):
    """Return the true answer as it is now. A sampler does not change."""
    if isinstance(values, ModelSampler):
        return values
    return [kept(value) for value in values] if isinstance(values, list) else values.copy()


def question(values):
    """Return what is public of a true answer: how many numbers, or all that an exact draw searches."""
    if isinstance(values, ModelSampler):
        plan, space = values._plan, values._plan.space
        closed = None if space.closed is None else space.closed.tolist()
        public = plan.depth, plan.sizes, plan.prior, plan.objective
        return *public, space.antecedents, space.branches, closed, visited(values)
    return [question(value) for value in values] if isinstance(values, list) else values.shape


def visited(sampler):
    """Return all states that an exact draw goes through."""
    if isinstance(sampler._states, Boxes):
        return [[axis.sets.tolist() for axis in sampler._states.axes], sampler._states.depth]
    if isinstance(sampler._states, Pairs):
        return [[group.cells.tolist() for group in sampler._states.groups], sampler._states.depth]
    if isinstance(sampler._states, Outcomes):
        return [sets.tolist() for sets in sampler._states.sets]
    return [level.states.tolist() for level in sampler._states]


def further(mechanism, inputs, neighbours):
    """Return how far inputs are where several rows differ: those of siblings may be in several of them."""
    if isinstance(mechanism, Siblings):
        return sum(mechanism.each.distance(*pair) for pair in zip(inputs, neighbours, strict=True))
    return mechanism.distance(inputs, neighbours)


def loss_of_all(trace, rows=1):
    """Return the ε of all mechanisms that ran, for neighbouring tables that differ by as many rows, or steps."""
    gaussian = [mechanism for mechanism, _, _ in trace if isinstance(mechanism, GaussianCounts)]
    assert all(mechanism.rows == rows for mechanism in gaussian), "noise that is made for other units"
    assert sum(item.parts for item in gaussian) <= max((item.answers for item in gaussian), default=0), (
        "more than all parts"
    )
    others = [mechanism for mechanism, _, _ in trace if not isinstance(mechanism, GaussianCounts)]
    return sum(mechanism.epsilon for mechanism in gaussian) + rows * sum(mechanism.epsilon for mechanism in others)


@dataclass
class Recorder:
    """Runs another source and keeps (mechanism, true answer, noisy answer) of every call."""

    inner: object
    trace: list = field(default_factory=list)
    no_guarantee_reason = None
    description = "recorded"

    def prepare(self, mechanism):
        run = self.inner.prepare(mechanism)

        def noisy(values):
            answer = run(values)
            self.trace.append((mechanism, kept(values), answer))
            return answer

        return noisy


@dataclass
class Replayer:
    """Gives the recorded answers, whatever the true ones are, and checks that the calls are the recorded ones.

    Tables may differ by so many `rows`.
    """

    trace: list
    position: int = 0
    rows: int = 1
    no_guarantee_reason = None
    description = "replayed"

    def prepare(self, mechanism):
        def noisy(neighbouring):
            assert self.position < len(self.trace), "the neighbouring table caused a further release"
            recorded, values, answer = self.trace[self.position]
            self.position += 1
            assert mechanism == recorded, "the neighbouring table changed a mechanism or its charge"
            assert question(neighbouring) == question(values), "the question itself changed"
            each = 1 if isinstance(mechanism, GaussianCounts) else self.rows  # whose noise is made for all rows
            apart = further if self.rows > 1 else mechanism.__class__.distance
            assert apart(mechanism, values, neighbouring) <= each * mechanism.sensitivity, "further than declared"
            return answer

        return noisy

    def finish(self, epsilon):
        """Check that nothing is left of the record, and that the mechanisms that ran cost at most `epsilon`.

        What the mechanisms cost is added up here and not read from charges: a plan that spends what remains of a budget
        refills an undercharge by itself, so that its charges add up to ε all the same.
        """
        assert self.position == len(self.trace), "the neighbouring table caused fewer releases"
        assert loss_of_all(self.trace, self.rows) <= epsilon, "the mechanisms that ran cost more than was charged"
