"""Options that rescale a scorecard to the scale of credit scorecards."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from hedgerow.cli.options import option
from hedgerow.cli.output import say
from hedgerow.cli.predictions import class_named
from hedgerow.errors import ArgumentError
from hedgerow.models.model import Model
from hedgerow.models.point_scale import PointScale, not_two_classes
from hedgerow.schema import Schema
from hedgerow.text.messages import shown
from hedgerow.text.values import listed

_PANEL = "Credit scale of a scorecard for two classes"


def _scale(text: str, metavar: str) -> Any:
    return option(text, metavar=metavar, rich_help_panel=_PANEL)


@dataclass(frozen=True)
class ScaleOptions:
    """Options of a scorecard's scale; all of them must be given, or none."""

    pdo: Annotated[float | None, _scale("Number of points that doubles the odds, such as 20.", "POINTS")] = None
    score: Annotated[float | None, _scale("Score at which the odds are --odds, such as 600.", "SCORE")] = None
    odds: Annotated[float | None, _scale("Odds at --score, such as 50 (to 1).", "ODDS")] = None
    favourable: Annotated[str | None, _scale("Class that the odds are for, such as repaid.", "CLASS")] = None

    @property
    def given(self) -> list[str]:
        """Names of the options that were given."""
        return [f"--{name}" for name, value in asdict(self).items() if value is not None]

    def scale(self, schema: Schema) -> PointScale | None:
        """Return the scale for the classes of a schema, or None if no option was given."""
        if not self.given:
            return None
        if schema.target.as_number is not None or schema.target.n_levels != 2:
            raise not_two_classes(schema)
        if self.pdo is None or self.score is None or self.odds is None or self.favourable is None:
            together = f"--pdo, --score, --odds and --favourable ({listed(schema.classes)})"
            raise ArgumentError(f"a credit scale requires {together}, got only {' and '.join(self.given)}.")
        favourable = class_named(schema, self.favourable)
        if favourable not in schema.classes:
            raise ArgumentError(f"--favourable must be one of {listed(schema.classes)}, got {shown(favourable)}.")
        return PointScale(self.pdo, self.score, self.odds, favourable)

    def of_fit(self, kind: str, schema: Schema | None, points: int | None) -> PointScale | None:
        """Return the scale of a model to be learned; called before the charge."""
        names = " and ".join(self.given)
        if self.given and points is not None:
            raise ArgumentError(f"--points cannot be combined with {names}, which set the points; leave --points out.")
        if self.given and kind != "scorecard":
            raise ArgumentError(f"{names}: expected --model scorecard, got --model {kind}.")
        if self.given and schema is None:
            raise ArgumentError(f"--schema is missing: {names} require it, since it declares the classes.")
        return None if schema is None else self.scale(schema)


def on_scale(model: Model, scale: PointScale | None) -> Model:
    """Return a scorecard on a scale, or the model unchanged if the scale is None."""
    if scale is None:
        return model
    return model.scaled(pdo=scale.pdo, score=scale.score, odds=scale.odds, favourable=scale.favourable)


def charged_on_scale(model: Model, scale: PointScale | None) -> Model:
    """Return a charged scorecard on a scale; if its points would be too large, warn and return it unchanged."""
    try:
        return on_scale(model, scale)
    except ArgumentError as error:
        say(f"warning: the scorecard was not rescaled: {error}", err=True)
        return model
