"""Options that put a scorecard on the scale of credit scorecards."""

from dataclasses import asdict, dataclass
from typing import Annotated

from hedgerow.cli.options import option
from hedgerow.cli.output import say
from hedgerow.cli.predictions import class_named
from hedgerow.errors import ArgumentError
from hedgerow.models.model import Model
from hedgerow.models.point_scale import PointScale, not_two_classes
from hedgerow.schema import Schema
from hedgerow.text.messages import shown
from hedgerow.text.values import listed


@dataclass(frozen=True)
class ScaleOptions:
    """Options of a scorecard's scale: all of them, or none."""

    pdo: Annotated[float | None, option("Scorecard: points to double the odds, such as 20.", metavar="POINTS")] = None
    score: Annotated[float | None, option("Scorecard: total with the odds of --odds, such as 600.")] = None
    odds: Annotated[float | None, option("Scorecard: odds at --score, such as 50.")] = None
    favourable: Annotated[str | None, option("Scorecard: class of the odds.", metavar="CLASS")] = None

    @property
    def given(self) -> list[str]:
        """The options that are given."""
        return [f"--{name}" for name, value in asdict(self).items() if value is not None]

    def scale(self, schema: Schema) -> PointScale | None:
        """Return the scale for the classes of a schema; None if no option is given."""
        if not self.given:
            return None
        if schema.target.as_number is not None or schema.target.n_levels != 2:
            raise not_two_classes(schema)
        if self.pdo is None or self.score is None or self.odds is None or self.favourable is None:
            together = f"--pdo, --score, --odds and --favourable (a class: {listed(schema.classes)})"
            raise ArgumentError(f"expected {together} together, got {' and '.join(self.given)} only.")
        favourable = class_named(schema, self.favourable)
        if favourable not in schema.classes:
            raise ArgumentError(f"--favourable must be one of {listed(schema.classes)}, got {shown(favourable)}.")
        return PointScale(self.pdo, self.score, self.odds, favourable)

    def of_fit(self, kind: str, schema: Schema | None, points: int | None) -> PointScale | None:
        """Return the scale of a model that is to be learned, checked before anything is charged."""
        if self.given and points is not None:
            both = f"--points, the most points of a bin, and {' and '.join(self.given)}, which set the points' scale"
            raise ArgumentError(f"{both}: expected one or the other, got both; leave --points out.")
        if self.given and kind != "scorecard":
            raise ArgumentError(f"{' and '.join(self.given)}: expected --model scorecard, got --model {kind}.")
        if self.given and schema is None:
            raise ArgumentError(f"{' and '.join(self.given)} need --schema, which declares the classes.")
        return None if schema is None else self.scale(schema)


def on_scale(model: Model, scale: PointScale | None) -> Model:
    """Return a scorecard on a scale, or the model itself if there is no scale."""
    if scale is None:
        return model
    return model.scaled(pdo=scale.pdo, score=scale.score, odds=scale.odds, favourable=scale.favourable)


def charged_on_scale(model: Model, scale: PointScale | None) -> Model:
    """Return a scorecard that was charged on a scale; as it is, with a warning, if its points become too large."""
    try:
        return on_scale(model, scale)
    except ArgumentError as error:
        say(f"warning: the scorecard keeps its own points: {error}", err=True)
        return model
