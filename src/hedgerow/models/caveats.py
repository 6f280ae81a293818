"""Caveats of a released model, by what was released alone: it says the same of all rows, or of leaves without any."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers, Mask
from hedgerow.models.conditions import Path
from hedgerow.models.decisions import CostTable
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.schema.schema import Schema
from hedgerow.text.values import shown_text

_MOST_WORK = 2 * 10**8  # of looks at leaves, times bins: about a second, for a model from somebody else
_A_LOOK = 1_000  # takes as long as so many bins


@dataclass(frozen=True)
class Caveat:
    """A reason why a model, or a leaf of it, is of little use. No row decides it, only what was released.

    Attributes
    ----------
    kind : {"constant", "no-better", "unclear", "unreachable", "unexamined", "empty"}
        Whether one prediction is made for all rows; the model is no better than always one class, by the released
        counts; it is better by no more than the noise on the counts can explain; the schema has no row for a leaf; the
        model is too large to look for such leaves; or the released rows of a leaf may be none but for the noise.
    sentence : str
        The same in words.
    leaves : tuple of int
        The numbers of all leaves that it is about, from 1; empty if it is about the model as a whole.
    """

    kind: str
    sentence: str
    leaves: tuple[int, ...] = ()

    @property
    def is_of_model(self) -> bool:
        """True if it is about the model as a whole."""
        return self.kind in ("constant", "no-better", "unclear")

    @property
    def is_useless(self) -> bool:
        """True if the model as a whole does no better than a constant, so that a fit warns."""
        return self.kind in ("constant", "no-better")


def constant(prediction: Any) -> Caveat:
    return Caveat("constant", f"It predicts {shown_text(prediction)} for every row: nothing in a row matters.")


def of_total(outcomes: Sequence[Any], ends: tuple[int, int], *, has_classes: bool) -> Iterator[Caveat]:
    """Yield whether a total between these ends, of two classes or a number, always predicts the same."""
    if not has_classes:
        if outcomes[0] == outcomes[-1]:  # they rise with the total
            yield constant(outcomes[0])
    elif ends[1] <= 0 or ends[0] > 0:  # the first class is decided for up to a total of 0
        yield constant(outcomes[int(ends[0] > 0)])


def of_class_totals(outcomes: Sequence[Any], base: Integers, bins: Sequence[Integers]) -> Iterator[Caveat]:
    """Yield whether one class has the largest total whatever the bins are.

    `bins` has the points of each attribute's bins by class. Only the class that one row has can be that of all rows.
    """
    place = int((base + sum(points[0] for points in bins)).argmax())
    leads = (base[place] - base) + sum((points[:, [place]] - points).min(axis=0) for points in bins)
    needed = np.arange(len(base)) < place  # the first of the largest totals decides
    if (leads >= needed).all():
        yield constant(outcomes[place])


def leaf_caveats(
    release: LeafRelease, schema: Schema, paths: Sequence[Path], costs: CostTable | None, *, exclusive: bool
) -> Iterator[Caveat]:
    if len(set(release.predictions)) == 1:
        yield constant(release.predictions[0])
    elif schema.target.as_number is None:
        yield from _no_better(release, costs)
    yield from _unreachable(schema, paths, release.name, exclusive=exclusive)
    yield from _empty(release)


def _no_better(release: LeafRelease, costs: CostTable | None) -> Iterator[Caveat]:
    """Yield that the released counts do not show the model to be better than always one class, at 95 % by their noise.

    It must be better than every class, so that the choice of the commonest one by noisy counts needs no correction.
    """
    noise = release.noise
    if noise is None or not release.is_histogram or release.counts.sum() <= noise.spread(release.counts.size):
        return
    rows, (own, others, squares) = int(release.counts.sum()), _losses(release, costs)
    gains, spreads = others - own, noise.weighted_spread(squares)
    if (gains > spreads).all():
        return
    place = int(gains.argmin())
    ends = [float(end) / rows for end in (gains[place] - spreads[place], gains[place] + spreads[place])]
    losses = own / rows, float(others[place]) / rows
    kind = "unclear" if gains[place] > 0 else "no-better"
    yield Caveat(kind, " ".join(_comparison(losses, ends, has_costs=costs is not None)))


def _losses(release: LeafRelease, costs: CostTable | None) -> tuple[float, Floats, Floats]:
    """Return the model's loss on the released counts, and for each class the loss of always this class.

    The third are the sums of the squared weights that the counts have in the difference. Without costs no table of all
    pairs of classes is made: there may be too many.
    """
    counts, said = release.counts, np.array(list(map(release.target.values.index, release.predictions)))
    totals = counts.sum(axis=0, dtype=np.float64)
    if costs is None:
        right = float(counts[np.arange(len(counts)), said].sum())
        others_said = len(said) - np.bincount(said, minlength=len(totals))
        return float(totals.sum()) - right, totals.sum() - totals, 2 * others_said.astype(np.float64)
    table: Floats = np.array(costs, dtype=np.float64)  # by actual class, then by predicted class
    pairs = table.T @ table
    sizes = np.diag(pairs)
    squares = (sizes[:, np.newaxis] + sizes[said] - 2 * pairs[:, said]).sum(axis=1)
    return float((table.T[said] * counts).sum()), totals @ table, np.maximum(squares.astype(np.float64), 0)


def _comparison(losses: tuple[float, float], ends: Sequence[float], *, has_costs: bool) -> Iterator[str]:
    """Yield the sentences on a model's mean loss and a constant's, with the ends of the interval of the gain.

    The losses themselves are stated only if the noise does not hide their difference.
    """
    if ends[1] > 0:
        scale, form, unit = (1, ".4g", " a row") if has_costs else (100, ".1f", " percentage points")
        low, high = (f"{scale * end:{form}}".replace("-", "−") for end in ends)
        yield "The released counts do not show that it is better than always saying one class:"
        yield f"the noise allows a gain of {low} to {high}{unit} (95 %)."
    elif has_costs:
        own, other = (f"{max(loss, 0):.4g}" for loss in losses)
        yield f"By the released counts a row costs {own} on average; always saying one class, {other}."
    else:
        own, other = (f"{100 * min(max(1 - loss, 0), 1):.1f} %" for loss in losses)
        yield f"By the released counts it is right on {own} of the rows; always saying the commonest class, on {other}."
        yield "It helps only where errors cost differently."


def _unreachable(schema: Schema, paths: Sequence[Path], name: str, *, exclusive: bool) -> Iterator[Caveat]:
    """Yield which leaves no row of the schema reaches: their literals contradict each other, or an earlier path.

    Of a model that is too large, yield that this was not examined.
    """
    looks = sum(map(len, paths)) + (0 if exclusive else len(paths) ** 2 // 2)
    if looks * (_A_LOOK + max(attribute.n_bins for _, attribute in schema.attributes)) > _MOST_WORK:
        what = "leaves" if name == "leaf" else f"{name}s"
        yield Caveat(
            "unexamined", f"It was not examined whether rows reach all {what}: the model is too large for that."
        )
        return
    boxes = [box_of(schema, path) for path in paths]
    none = list[int]()
    for place, box in enumerate(boxes):
        earlier = [] if exclusive else boxes[:place]
        if not all(bins.any() for bins in box.values()) or any(_is_inside(box, other) for other in earlier):
            none.append(place + 1)
    if none:
        yield Caveat("unreachable", f"No row that fits the schema reaches {_named(name, none)}.", tuple(none))


def _empty(release: LeafRelease) -> Iterator[Caveat]:
    none = [place + 1 for place in range(len(release.leaves)) if release.is_too_few(place)]
    if none and release.is_noisy:
        where = _named(release.name, none)
        yield Caveat("empty", f"There may be no rows in {where}: noise alone can make such counts.", tuple(none))


AllowedBins = dict[str, Mask]  # the bins of some attributes; of others, all


def box_of(schema: Schema, path: Path) -> AllowedBins:
    box: AllowedBins = {}
    for literal, holds in path:
        bins = schema[literal.attribute].truth(literal) == holds
        box[literal.attribute] = box.get(literal.attribute, bins) & bins
    return box


def _is_inside(box: AllowedBins, other: AllowedBins) -> bool:
    return all(name in box and not (box[name] & ~bins).any() for name, bins in other.items() if not bins.all())


def _named(name: str, numbers: Sequence[int]) -> str:
    """Return all these leaves by their rising numbers, runs of three or more as ranges."""
    runs = list[list[int]]()
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [text for run in runs for text in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    plural = "leaves" if name == "leaf" else f"{name}s"
    return f"{name if len(numbers) == 1 else plural} {', '.join(shown)}"
