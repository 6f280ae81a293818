"""Caveats about a released model: constant or useless predictions, and leaves without rows.

They follow from the released values alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers, Mask
from hedgerow.models.conditions import Path
from hedgerow.models.decisions import CostTable
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.models.points import AttributePoints
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Number
from hedgerow.text.language import _, decimal, gettext_noop, ngettext, percent, significant
from hedgerow.text.messages import capitalised
from hedgerow.text.values import shown_text

_MOST_WORK = 2 * 10**8  # the limit on bin comparisons, about one second, since the model may be untrusted
_LEAF_COST = 1_000  # the fixed cost of examining a leaf, in bin comparisons


@dataclass(frozen=True)
class Caveat:
    """A reason why a model, or one of its leaves, is of little use, derived from the released values alone.

    Attributes
    ----------
    kind : {"constant", "no-better", "unclear", "unreachable", "unexamined", "empty"}
        The kind of caveat.

        - "constant": The model makes the same prediction for every row.
        - "no-better": By the released counts, it is no better than always predicting one class (or the mean).
        - "unclear": Its advantage over always predicting one class (or the mean) is within the noise.
        - "unreachable": No row that fits the schema reaches a leaf.
        - "unexamined": The model is too large to search for such leaves.
        - "empty": The noise alone can produce the released counts of a leaf.
    sentence : str
        The caveat as a sentence.
    leaves : tuple of int
        The numbers of the leaves that it concerns, from 1; empty if it concerns the whole model.
    """

    kind: str
    sentence: str
    leaves: tuple[int, ...] = ()

    @property
    def is_of_model(self) -> bool:
        """True if it concerns the whole model."""
        return self.kind in ("constant", "no-better", "unclear")

    @property
    def is_useless(self) -> bool:
        """True if the model is no better than a constant, so that `fit` warns."""
        return self.kind in ("constant", "no-better")


def constant(prediction: Any) -> Caveat:
    sentence = _(
        "The model predicts {prediction} for every row, whatever the values of the attributes.",
        prediction=shown_text(prediction),
    )
    return Caveat("constant", sentence)


def of_total(outcomes: Sequence[Any], ends: tuple[int, int], *, has_classes: bool) -> Iterator[Caveat]:
    """Yield a caveat if all totals between these ends, for two classes or a number, predict the same."""
    if not has_classes:
        if outcomes[0] == outcomes[-1]:  # outcomes rise with the total
            yield constant(outcomes[0])
    elif ends[1] <= 0 or ends[0] > 0:  # totals up to 0 predict the first class
        yield constant(outcomes[int(ends[0] > 0)])


def of_class_totals(outcomes: Sequence[Any], base: Integers, bins: Sequence[Integers]) -> Iterator[Caveat]:
    """Yield a caveat if the same class has the largest total for every combination of bins.

    `bins` has the points of each attribute's bins by class.
    """
    # If all rows have the same class, it is the class of the row of the first bins.
    place = int((base + sum(points[0] for points in bins)).argmax())
    leads = (base[place] - base) + sum((points[:, [place]] - points).min(axis=0) for points in bins)
    needed = np.arange(len(base)) < place  # ties go to the first class
    if (leads >= needed).all():
        yield constant(outcomes[place])


def of_points_of_a_number(parts: Sequence[AttributePoints]) -> Iterator[Caveat]:
    """Yield a caveat if the variance of the points is at most twice the variance of their noise.

    The squared error of a prediction exceeds the error of the true effects by the variance of the noise, and the noise
    adds as much to the variance of the points. Above twice this variance, the prediction is better than the mean.
    """
    spread = noise = 0.0
    for part in parts:
        if part.errors is None or part.rows is None:
            return
        rows = np.maximum(np.array(part.rows, dtype=np.float64), 0.0)
        shares = rows / rows.sum() if rows.any() else np.full(len(rows), 1 / len(rows))
        points, errors = np.array(part.points, dtype=np.float64)[:, 0], np.array(part.errors)[:, 0]
        spread += float(shares @ (points - shares @ points) ** 2)
        noise += float(shares @ errors**2)
    if parts and spread <= 2 * noise:
        sentence = _(
            "The released points do not show that the model is better than always predicting the mean: their noise is "
            "too large compared with their differences."
        )
        yield Caveat("unclear", sentence)


def leaf_caveats(
    release: LeafRelease, schema: Schema, paths: Sequence[Path], costs: CostTable | None, *, exclusive: bool
) -> Iterator[Caveat]:
    if len(set(release.predictions)) == 1:
        yield constant(release.predictions[0])
    elif schema.target.as_number is None:
        yield from _no_better(release, costs)
    elif all(leaf.mean is not None for leaf in release.leaves):
        yield from _no_better_than_the_mean(release, schema.target.as_number)
    yield from _unreachable(schema, paths, release.name, exclusive=exclusive)
    yield from _empty(release)


def _no_better(release: LeafRelease, costs: CostTable | None) -> Iterator[Caveat]:
    """Yield a caveat unless the released counts show, at 95 %, that the model is better than always predicting a class.

    The model must be better than every constant class. Selecting the most frequent class by noisy counts therefore
    needs no correction.
    """
    noise = release.noise
    if noise is None or not release.is_histogram:
        return
    if release.counts.sum() <= noise.spread(release.counts.size):
        yield _without_rows()
        return
    rows, (own, constants, squares) = int(release.counts.sum()), _losses(release, costs)
    gains, spreads = constants - own, noise.weighted_spread(squares)
    if (gains > spreads).all():
        return
    place = int(gains.argmin())
    ends = [float(end) / rows for end in (gains[place] - spreads[place], gains[place] + spreads[place])]
    losses = own / rows, float(constants[place]) / rows
    kind = "unclear" if gains[place] > 0 else "no-better"
    yield Caveat(kind, " ".join(_comparison(losses, ends, has_costs=costs is not None)))


def _no_better_than_the_mean(release: LeafRelease, target: Number) -> Iterator[Caveat]:
    """Yield a caveat unless the released numbers show, at 95 %, a lower squared error than the mean of all rows.

    The gain is linear in a row's level, so that two sums count like rows at the ends of the range.
    """
    noise = release.noise
    if noise is None or not release.is_complete:
        return
    levels, numbers = np.array(target.values), np.array(release.numbers, dtype=np.float64)
    if release.kind == "sums":
        levels, numbers = levels[[-1, 0]], numbers / (target.n_levels - 1)
    rows = float(numbers.sum())
    if rows <= noise.spread(numbers.size):
        yield _without_rows()
        return
    mean = float(np.clip((numbers @ levels).sum() / rows, levels.min(), levels.max()))
    predicted = np.array(release.predictions, dtype=np.float64)[:, np.newaxis]
    weights = (levels - mean) ** 2 - (levels - predicted) ** 2
    gain = float((numbers * weights).sum() / rows)
    spread = float(noise.weighted_spread((weights**2).sum())) / rows
    if gain > spread:
        return
    low, high = (significant(end, 3).replace("-", "−") for end in (gain - spread, gain + spread))
    sentence = _(
        "The released numbers of the leaves do not show that the model is better than always predicting the mean: "
        "given the noise, the reduction of the mean squared error is {low} to {high} (95 % interval).",
        low=low,
        high=high,
    )
    yield Caveat("unclear" if gain > 0 else "no-better", sentence)


def _without_rows() -> Caveat:
    sentence = _(
        "The released numbers of rows do not show that the model is better than a constant prediction: the noise alone "
        "can produce their total."
    )
    return Caveat("unclear", sentence)


def _losses(release: LeafRelease, costs: CostTable | None) -> tuple[float, Floats, Floats]:
    """Return the loss of the model on the released counts, and the loss of always predicting each class.

    The third value has, for each class, the sum of the squared weights of the counts in the difference of both losses.
    """
    counts, predicted = release.counts, np.array(list(map(release.target.values.index, release.predictions)))
    totals = counts.sum(axis=0, dtype=np.float64)
    if costs is None:  # without a table of all pairs of classes, which could be too large
        correct = float(counts[np.arange(len(counts)), predicted].sum())
        different = len(predicted) - np.bincount(predicted, minlength=len(totals))
        return float(totals.sum()) - correct, totals.sum() - totals, 2 * different.astype(np.float64)
    table: Floats = np.array(costs, dtype=np.float64)  # by actual class, then by predicted class
    pairs = table.T @ table
    sizes = np.diag(pairs)
    squares = (sizes[:, np.newaxis] + sizes[predicted] - 2 * pairs[:, predicted]).sum(axis=1)
    return float((table.T[predicted] * counts).sum()), totals @ table, np.maximum(squares.astype(np.float64), 0)


def _comparison(losses: tuple[float, float], ends: Sequence[float], *, has_costs: bool) -> Iterator[str]:
    """Yield sentences that compare the mean loss of the model with the mean loss of a constant prediction.

    `ends` is the interval of the gain. The losses are stated only if the noise does not hide their difference.
    """
    if ends[1] > 0:
        message = (
            gettext_noop(
                "The released counts do not show that the model is better than always predicting one class: given the "
                "noise, the saving is {low} to {high} per row (95 % interval)."
            )
            if has_costs
            else gettext_noop(
                "The released counts do not show that the model is better than always predicting one class: given the "
                "noise, the gain in accuracy is {low} to {high} percentage points (95 % interval)."
            )
        )
        texts = (significant(end) if has_costs else decimal(100 * end, 1) for end in ends)
        low, high = (text.replace("-", "−") for text in texts)
        yield _(message, low=low, high=high)
    elif has_costs:
        own, constant_loss = (significant(max(loss, 0)) for loss in losses)
        yield _(
            "By the released counts, the model costs {own} per row on average; always predicting one class costs "
            "{constant}.",
            own=own,
            constant=constant_loss,
        )
    else:
        own, constant_share = (percent(min(max(1 - loss, 0), 1), 1) for loss in losses)
        yield _(
            "By the released counts, the model predicts {own} of the rows correctly; always predicting the most "
            "frequent class predicts {constant} correctly.",
            own=own,
            constant=constant_share,
        )
        yield _("The model is probably useful only to rank rows, or if errors have different costs.")


def _unreachable(schema: Schema, paths: Sequence[Path], name: str, *, exclusive: bool) -> Iterator[Caveat]:
    """Yield a caveat about leaves that no row reaches: their literals contradict each other, or an earlier path holds.

    If the model is too large for this search, yield a caveat about that.
    """
    leaves_examined = sum(map(len, paths)) + (0 if exclusive else len(paths) ** 2 // 2)
    if leaves_examined * (_LEAF_COST + max(attribute.n_bins for _name, attribute in schema.attributes)) > _MOST_WORK:
        message = (
            gettext_noop("Whether rows can reach every leaf was not checked: the model is too large.")
            if name == "leaf"
            else gettext_noop("Whether rows can reach every rule was not checked: the model is too large.")
        )
        yield Caveat("unexamined", _(message))
        return
    boxes = [box_of(schema, path) for path in paths]
    unreachable = list[int]()
    for place, box in enumerate(boxes):
        earlier = [] if exclusive else boxes[:place]
        if not all(bins.any() for bins in box.values()) or any(_is_inside(box, other) for other in earlier):
            unreachable.append(place + 1)
    if unreachable:
        leaves = _named(name, unreachable)
        sentence = _("No row that fits the schema reaches {leaves}.", leaves=leaves)
        yield Caveat("unreachable", sentence, tuple(unreachable))


def _empty(release: LeafRelease) -> Iterator[Caveat]:
    empty = [place + 1 for place in range(len(release.leaves)) if release.is_too_few(place)]
    if empty and release.is_noisy:
        leaves = capitalised(_named(release.name, empty))
        sentence = ngettext(
            "{leaves} may contain no rows: the noise alone can produce such counts.",
            "{leaves} may contain no rows: the noise alone can produce such counts.",
            len(empty),
            leaves=leaves,
        )
        yield Caveat("empty", sentence, tuple(empty))


AllowedBins = dict[str, Mask]  # the allowed bins by attribute; every bin of an attribute that is not a key


def box_of(schema: Schema, path: Path) -> AllowedBins:
    box: AllowedBins = {}
    for literal, holds in path:
        bins = schema[literal.attribute].truth(literal) == holds
        box[literal.attribute] = box.get(literal.attribute, bins) & bins
    return box


def _is_inside(box: AllowedBins, other: AllowedBins) -> bool:
    return all(name in box and not (box[name] & ~bins).any() for name, bins in other.items() if not bins.all())


def _named(name: str, numbers: Sequence[int]) -> str:
    """Return leaves by their numbers in rising order, with runs of three or more as ranges."""
    runs = list[list[int]]()
    for place in numbers:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    shown = [text for run in runs for text in ([_run(run)] if len(run) > 2 else map(str, run))]
    if name == "leaf":
        return ngettext("leaf {numbers}", "leaves {numbers}", len(numbers), numbers=", ".join(shown))
    return ngettext("rule {numbers}", "rules {numbers}", len(numbers), numbers=", ".join(shown))


def _run(numbers: Sequence[int]) -> str:
    return _("{low} to {high}", low=str(numbers[0]), high=str(numbers[-1]))
