"""Base class of released models: the model file, and all that other rooms ask of a model."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self
from xml.etree.ElementTree import Element

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Index, Whole
from hedgerow.errors import ArgumentError, ArgumentTypeError, HedgerowError, ModelFormatError
from hedgerow.models.caveats import Caveat
from hedgerow.models.conditions import Dialect
from hedgerow.models.conditions import Path as DecisionPath
from hedgerow.models.decisions import ClassWeight, Costs, CostTable, cost_matrix, decisions
from hedgerow.models.envelope import OURS, SealedFile, seal
from hedgerow.models.extra_contents import Content, guarantee_line
from hedgerow.models.leaf import Leaf
from hedgerow.models.leaf_release import LeafRelease, Support
from hedgerow.models.model_card import model_card
from hedgerow.models.plot import svg_of
from hedgerow.models.pmml import pmml_document
from hedgerow.models.score_bands import ScoreBands
from hedgerow.models.size import ModelSize
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.attributes import BinCodes
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table
from hedgerow.text.axes import Axes
from hedgerow.text.markup import Html, element, joined, templates
from hedgerow.text.values import Value, printable, value_text

if TYPE_CHECKING:
    from jinja2 import Template


DialectName = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake"]
ColumnTypes = Literal["any", "declared"]
_MOST_SHOWN, _MOST_DRAWN = 2**20, 2**16  # characters of HTML in a notebook; a picture of more takes seconds
_WRAPPED = "max-width:60rem;overflow-wrap:anywhere"
_PAPER, _DRAWN = "overflow-x:auto;background:#fff;padding:.5rem", "max-width:max(100%,36rem);height:auto"


@dataclass(frozen=True)
class Listing:
    """A table of a model's parts: text is printable, and None is an empty cell."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]


@dataclass(frozen=True)
class RowDecisions:
    """A model's decision on each row, and columns with its reasons, by name."""

    classes: list[Value]  # the predicted class of each row
    reasons: dict[str, Any]  # what it follows from: the number of a leaf, or totals
    probabilities: Floats  # of the classes, shape (n_rows, n_classes)
    explained: Callable[[], dict[str, Any]]  # returns the reasons in words, with what was released about them


class Model(SealedFile):
    """A released model with its schema and privacy card, and all that other rooms ask of a model.

    Subclasses are dataclasses, which define its fields. A new family is a subclass that `hedgerow.models.files` lists.
    """

    schema: Schema
    privacy: PrivacyCard

    kind: ClassVar[str]  #: the kind of model in messages and titles
    decides_by: ClassVar[str]  #: the way in which it decides, as a message says it after the kind: "adds up points"
    has_points: ClassVar[bool] = False  #: True if it adds up points, so that each row has a total
    costs: CostTable | None = None  #: the costs that the fit minimised, by actual class, then by predicted class
    contents: tuple[Content, ...] = ()  #: other data in the file that it was read from; its own file has none of it

    def with_contents(self, contents: tuple[Content, ...]) -> Self:
        """Return the model with what else the file holds that it was read from."""
        found = copy(self)
        object.__setattr__(found, "contents", contents)
        return found

    @property
    def bin_supports(self) -> tuple[Support, ...]:
        """The released rows of each bin of an attribute, one attribute after the other; empty if none were released."""
        return ()

    @property
    def name(self) -> str:
        """The name of the kind in commands and questions, such as ``rule-list``."""
        return self.format.removeprefix(OURS)

    @property
    @abstractmethod
    def used_attributes(self) -> tuple[str, ...]:
        """The attributes that it uses, in the schema's order."""

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Its sizes, by the parameters of its learner that bound them."""

    @property
    @abstractmethod
    def size(self) -> ModelSize:
        """Its size as facts; as text, one sentence, such as "tree with 6 leaves, depth 3"."""

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves, with what was released about their rows; none of a model that routes no row to a leaf."""
        return ()

    @property
    def paths(self) -> tuple[DecisionPath, ...]:
        """The decision path of each leaf: literals, each with whether it holds; the first path that fits decides."""
        return ()

    @cached_property
    def leaf_release(self) -> LeafRelease:
        """All that was released about the leaves, and what follows from it; of a model without leaves, nothing."""
        return LeafRelease((), self.schema.target, None)

    @property
    def has_counts(self) -> bool:
        """True if counts were released of any leaf."""
        return self.leaf_release.kind == "counts"

    @property
    @abstractmethod
    def outcomes(self) -> tuple[Any, ...]:
        """The class of each outcome of `outcomes_of`."""

    @abstractmethod
    def outcomes_of(self, bins: Mapping[str, Whole], n_rows: int) -> Index:
        """Return the place of each row's outcome in `outcomes`, from its bin of each attribute that is used."""

    @abstractmethod
    def score_bands(self, most: int) -> ScoreBands:
        """Return at most about `most` public bands of its probabilities, at least one for each predicted class.

        They follow from the model alone. SchemaError if it predicts a number.
        """

    @abstractmethod
    def decisions(self, X: Any) -> RowDecisions:
        """Return what it decides on each row, and why; see `predict` for `X` and errors."""

    @abstractmethod
    def listings(self) -> tuple[Listing, ...]:
        """Return its parts as tables for a report."""

    def _encoded(self, X: Any) -> tuple[dict[str, BinCodes], int]:
        """Return the bin of each row in each attribute that is used, and the number of rows."""
        table = Table.of(X)
        return self.schema.encode(table, self.used_attributes), len(table)

    def predict(self, X: Any) -> Array:
        """Return the predicted class of each row, shape ``(n_rows,)``.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows. Of a frame only the columns that the model uses are needed.

        Raises
        ------
        DomainError
            If a column that the model uses is absent or holds values the schema does not allow.
        """
        return np.array(self.outcomes)[self.outcomes_of(*self._encoded(X))]

    @abstractmethod
    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities of each row, shape ``(n_rows, n_classes)``; see `predict`.

        If only labels were released, each probability is 0 or 1, and `LabelsOnlyWarning` says so.
        """

    @property
    @abstractmethod
    def has_shares(self) -> bool:
        """True if its probabilities say more than its labels."""

    def decide(self, X: Any, *, class_weight: ClassWeight | None = None, costs: Costs | None = None) -> Array:
        """Return the class of the least expected cost of each row, shape ``(n_rows,)``.

        A decision reads the released probabilities and public costs alone: it is post-processing, and costs no ε.
        `predict`, and what is exported as SQL or Python, decide as if all errors cost the same.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows, as `predict` takes them.
        class_weight : mapping of class to float, optional
            The cost of any error about a row of the class, > 0; 1 for classes that are left out.
        costs : mapping of class to mapping of class to float, optional
            ``costs[actual][decided]``: what it costs to decide for one class where the row is of another. Those of
            errors must be given; of a correct decision it is 0 where it is left out. Either this or `class_weight`.

        Raises
        ------
        TypeError
            If the model has labels alone, whose probabilities are 0 or 1.
        ValueError
            If a class is none of the model's, or a cost is missing or not finite.

        References
        ----------
        Elkan, *The Foundations of Cost-Sensitive Learning*, IJCAI 2001, Section 1.
        """
        classes = self.schema.classes
        matrix = cost_matrix(classes, class_weight=class_weight, costs=costs)
        if not self.has_shares:
            problem = f"expected a {self.kind} with probabilities or counts, got one with labels alone"
            advice = "learn it with release_counts=True, or with objective='mixed'."
            raise ArgumentTypeError(f"{problem}, which no cost can change; {advice}")
        numbers = {value: number for number, value in enumerate(classes)}
        predicted = np.array([numbers[value] for value in self.predict(X).tolist()], dtype=np.intp)
        return np.array(classes)[decisions(self.predict_proba(X), predicted, matrix)]

    @abstractmethod
    def feature_importances(self) -> dict[str, float]:
        """Return the importance of each attribute that is used, by name: shares that add up to 1, or all 0.

        They are computed from points and released counts alone, which is post-processing and costs no ε. Noise moves
        them: an attribute whose counts are within their noise has an importance of no meaning.

        Scorecards: the mean absolute difference of a row's points from the attribute's mean, with bins weighted by
        their released rows; the distance between the lowest and the highest points if rows by bin were not released.
        Trees and rule lists: the reduction of the impurity (Gini of classes, variance of a number) by the tests of the
        attribute, as in scikit-learn, by the released counts and, if there are any, the class shares estimated from
        them. Negative counts are 0.

        Raises
        ------
        TypeError
            If a tree or rule list was released without counts or sums of every leaf.
        """

    def to_sql(self, dialect: DialectName = "duckdb", *, types: ColumnTypes = "any") -> str:
        """Return an expression in an engine's SQL that gives the predicted class from the raw columns.

        Columns may be boolean where the schema says so, of any number type, or text, white space around it left out;
        where it declares dates, of dates, of times without a time zone, or text. No setting of the connection changes
        what is predicted, except PostgreSQL's ``DateStyle`` for columns of dates. Missing values satisfy
        ``is missing`` alone, as in `predict`. A value outside a domain whose policy is an error makes `predict` raise;
        in SQL it satisfies the literals that compare true with it, and text that is no number none. A boolean where
        words or categories are declared counts as what it is, since DuckDB reads yes and no in a file as booleans. In
        PostgreSQL, text counts as no number either where no program writes numbers so, such as ``10e-150``.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake"}, default="duckdb"
            The engine. In DuckDB, PostgreSQL and Spark the expression is tested to predict what `predict` does; for
            BigQuery and Snowflake it is generated, but has not been run.
        types : {"any", "declared"}, default="any"
            The types of the columns. "any": the expression converts each value, as described above. "declared": plain
            comparisons without casts, for columns of the types that the schema declares: any numeric type for integers,
            reals and lists of whole numbers (decimals and integers of at most 15 digits), BOOLEAN for booleans without
            words, DATE for dates, text for the rest, with values written as in the schema, without white space around
            them. A tree is one CASE with a case for each leaf. For rows that `predict` accepts, both forms predict the
            same. Derived attributes, dates with a `format`, and lists of both text and numbers keep the form for any
            type.

        Raises
        ------
        ValueError
            If there is no such dialect or choice of types, or Spark would read a column's name as another.

        Examples
        --------
        >>> from hedgerow.models import Leaf, Split, Tree
        >>> from hedgerow.schema import Categorical, Integer, Label, Literal, Schema
        >>> schema = Schema({"age": Integer(0, 90, cuts=(30,)), "sex": Categorical(("F", "M"))}, Label("ill", (0, 1)))
        >>> inner = Split(Literal("sex", "=", ("F",)), Leaf(label=0), Leaf(label=1))
        >>> root = Split(Literal("age", "<=", (30,)), Leaf(label=0), inner)
        >>> print(Tree(schema, root, PrivacyCard.none("example", software="hedgerow")).to_sql(types="declared"))
        /* DuckDB, columns of the declared types; guarantee: none (example) */ CASE
          WHEN "age" <= 30 THEN 0
          WHEN "sex" = 'F' THEN 0
          ELSE 1
        END
        """
        from hedgerow.models import sql  # sqlglot takes long to import
        from hedgerow.models.dialects import dialect_named

        of = dialect_named(dialect, types)
        return sql.expression(self._sql(of), of, self._guarantee)

    @abstractmethod
    def _sql(self, dialect: Dialect) -> list[str]:
        """Return the lines of the expression of `to_sql`."""

    @abstractmethod
    def to_python(self) -> str:
        """Return the source of a Python function ``predict(row)`` that needs nothing installed.

        `row` maps the names of columns to cells, as `csv.DictReader`, drivers of databases and NumPy give them: text,
        numbers, decimals, booleans, dates, times; None, NaN or blank text where missing. Each is what `predict` takes
        it for in a column of its type, and so is what is predicted. A cell that `predict` refuses is an error or, where
        it is outside the domain, false of every comparison. psycopg reads `real` by its digits, as another number than
        the single: cast it to double precision.
        """

    @abstractmethod
    def to_pmml(self) -> str:
        """Return the model as PMML 4.4: a ``TreeModel``, ``RuleSetModel`` or ``Scorecard`` for evaluators of others.

        Cells are compared with the values as the schema writes them: text is not trimmed, dates are YYYY-MM-DD, and a
        category 2 is not 2.0, as in a float column. Where `predict` refuses a value, an evaluator may predict, or not.

        Raises
        ------
        ValueError
            If it uses derived columns, adds up points for more than two classes or of no attribute, is too large, or
            has control characters in names, or those of outputs.
        """

    def _pmml_document(self, own: Element) -> str:
        return pmml_document(own, self.schema, self.used_attributes, self.privacy)

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the model, and return the axes."""

    def form(self, ax: Axes | None = None) -> Axes:  # noqa: ARG002 -- of those models that have a form
        """Draw a form to print and to fill in by hand, and return the axes; ValueError but for a scorecard."""
        raise ArgumentError(f"expected a scorecard for a form to fill in by hand, got a {self.kind}; use `plot`.")

    def scaled(self, *, pdo: float, score: float, odds: float, favourable: Value) -> Self:  # noqa: ARG002 -- scorecards
        """Return the model with points that double the odds every `pdo`; ValueError except for a scorecard."""
        raise ArgumentError(f"expected a scorecard for points that double the odds, got a {self.kind}.")

    def reasons(self, X: Any, *, favourable: Value | None = None) -> Array:  # noqa: ARG002 -- of scorecards
        """Return the attributes that cost each row most points; ValueError but for a scorecard."""
        raise ArgumentError(f"expected a scorecard for reasons by points, got a {self.kind}; explain its rows instead.")

    @property
    def _meanings(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, self.schema[name].meaning) for name in self.used_attributes if self.schema[name].meaning)

    @property
    @abstractmethod
    def _text(self) -> str:
        """The parts of the model in words."""

    @property
    def _full_text(self) -> str:
        """The parts of the model in words, however many there are."""
        return self._text

    @cached_property
    def caveats(self) -> tuple[Caveat, ...]:
        """Reasons why it, or a leaf, is of little use, by what was released alone; none of a model without charges."""
        return tuple(self._caveats()) if self.privacy.charges else ()

    def _caveats(self) -> Iterator[Caveat]:
        return iter(())

    def __str__(self) -> str:
        return self._with_remarks(self._text)

    def to_text(self) -> str:
        """Return the whole model in words. ``str(model)`` fits a page: it folds what is too much for it."""
        return self._with_remarks(self._full_text)

    def _with_remarks(self, text: str) -> str:
        lines = [f"{printable(name)}: {meaning}" for name, meaning in self._meanings]
        lines += [f"caveat: {caveat.sentence}" for caveat in self._shown_caveats]
        return "\n".join([text, "", *lines]) if lines else text

    @property
    def _shown_caveats(self) -> list[Caveat]:
        return [one for one in self.caveats if one.kind != "empty"]  # notes on these leaves say so already

    @property
    @abstractmethod
    def _parts_html(self) -> str:
        """The parts of the model as an HTML fragment; names and values are escaped."""

    @property
    def _body_html(self) -> Html:
        return Html(self._parts_html + self._caveats_html + self._terms_html)

    @property
    def _caveats_html(self) -> Html:
        return joined(*(element("p", f"Caveat: {caveat.sentence}") for caveat in self._shown_caveats))

    @property
    def _terms_html(self) -> str:
        terms = [element("div", element("dt", printable(name)), element("dd", text)) for name, text in self._meanings]
        return element("dl", *terms) if terms else ""

    def _picture(self) -> tuple[str, str]:
        try:
            return svg_of(self.plot, f"Picture of the {self.kind}, whose parts are below in words"), ""
        except HedgerowError as error:
            return "", str(error)

    def to_html(self) -> str:
        """Return the model and its card as an HTML fragment; names and values are escaped."""
        return self._body_html + element("pre", str(self.privacy))

    def to_page(self) -> str:
        """Return a whole HTML page to be read and printed: the picture of the model, its parts in words, the card.

        It is one file that loads nothing and runs nothing; names and values are escaped. A model that is too large to
        be drawn has no picture.
        """
        picture, problem = self._picture()
        label = self.schema.label
        title = self.kind.capitalize() + ("" if label is None else f" for {printable(label.name)}")
        named = {"title": title, "guarantee": printable(self.privacy.headline), "digest": self.to_dict()["digest"]}
        parts = {"picture": picture, "problem": problem, "body": self._body_html}
        return page_template().render(**named, **parts, card=Html(self.privacy.to_html()))

    def to_model_card(self) -> str:
        """Return the README of a model's repository: a head in YAML with ε, δ, unit and digest, then Markdown."""
        return model_card(self.kind, str(self), self.schema, self.privacy, self.to_dict()["digest"])

    @abstractmethod
    def _structure(self) -> dict[str, Any]:
        """Return the entries of the file that are specific to this kind of model, JSON-ready."""

    @classmethod
    @abstractmethod
    def _assemble(cls, schema: Schema, data: Mapping[str, Any], privacy: PrivacyCard) -> Self:
        """Return the model of the entries that `_structure` wrote."""

    @property
    def _guarantee(self) -> str:
        return guarantee_line(self.privacy)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON-ready data, sealed with a digest of its content."""
        schema = {"schema": self.schema.to_dict(), "schema_digest": self.schema.digest}
        data = {"format": self.format, "version": self.version, **schema, **self._structure()}
        return seal(data | {"privacy": self.privacy.to_dict()})

    @classmethod
    def _opened(cls, sealed: Mapping[str, Any]) -> Self:
        model = cls._assemble(Schema.from_dict(sealed["schema"]), sealed, PrivacyCard.from_dict(sealed["privacy"]))
        problem = model.privacy.contradiction(model.schema.charges, model.schema.no_guarantee)
        if problem:
            raise ModelFormatError(problem)
        return model

    def _repr_html_(self) -> str:
        words = self._parts_html + self._terms_html
        picture = self._picture()[0] if len(words) <= _MOST_DRAWN else ""
        shown = picture.replace("<svg", f'<svg style="{_DRAWN}"', 1)
        if len(words) > _MOST_SHOWN:
            words = element("p", f"{self!r}: too large to show here; write to_page() to a file.")
        drawn = [element("div", Html(shown), style=_PAPER)] if shown else []
        head = element("p", f"{self.kind.capitalize()}, {self._guarantee}.")
        parts = _folded("In words", words, **({} if shown else {"open": "open"}))
        card = _folded("Privacy card", self.privacy.to_html())
        return element("div", *drawn, head, self._caveats_html, parts, card, style=_WRAPPED)


def _folded(title: str, content: str, **attributes: str) -> Html:
    inner = element("div", Html(content), style="overflow-x:auto;overflow-wrap:break-word")
    return element("details", element("summary", title), inner, **attributes)


@cache
def page_template() -> "Template":
    return templates(Path(__file__).with_name("templates")).get_template("model.html")


def class_titles(name: str, classes: Sequence[Value]) -> list[str]:
    """Return the title of a column for each class, such as ``rows(yes)``."""
    return [f"{name}({value_text(value)})" for value in classes]
