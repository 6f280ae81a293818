"""Scores of a split, row by row."""

import math
from fractions import Fraction

from hedgerow.privacy.gini import RESOLUTION


def impurity(problem, rows):
    labels = [problem.labels[i] for i in rows]
    squares = sum(labels.count(label) ** 2 for label in set(labels))
    return math.floor(RESOLUTION * (len(labels) - Fraction(squares, max(len(labels), 1))))


def least_loss(loss):
    """The loss of the best value, in steps, row by row."""
    values = range(len(loss.values))
    return lambda problem, rows: min(sum(loss.table[problem.labels[i]][value] for i in rows) for value in values)


def divides(problem, path, option):
    """Whether an option can divide the rows on all sides of the way, (option, caught) pairs, as the schema has it."""
    (literal,) = problem.space.antecedents[option]
    truth = problem.schema[literal.attribute].truth(literal)
    here = truth | ~truth
    for other, caught in path:
        (before,) = problem.space.antecedents[other]
        if before.attribute == literal.attribute:
            here = here & (problem.schema[literal.attribute].truth(before) == caught)
    return bool((here & truth).any() and (here & ~truth).any())
