"""Base class of released models: the model file, and the interface that other packages use."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self
from xml.etree.ElementTree import Element

import numpy as np

from hedgerow.boundary.arguments import check_choice
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
from hedgerow.text.language import LANGUAGES, Language, _, gettext_noop, in_language, language
from hedgerow.text.markup import Html, element, joined, templates
from hedgerow.text.messages import capitalised
from hedgerow.text.values import Value, printable, value_text

if TYPE_CHECKING:
    from jinja2 import Template


DialectName = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake"]
ColumnTypes = Literal["any", "declared"]
_MOST_SHOWN, _MOST_DRAWN = 2**20, 2**16  # the largest HTML in a notebook, in characters; larger plots take seconds
_WRAPPED = "max-width:60rem;overflow-wrap:anywhere"
_PAPER, _DRAWN = "overflow-x:auto;background:#fff;padding:.5rem", "max-width:max(100%,36rem);height:auto"


KINDS = {
    "rule list": gettext_noop("rule list"),
    "tree": gettext_noop("tree"),
    "scorecard": gettext_noop("scorecard"),
}
"""The kinds of models, marked for translation."""


@dataclass(frozen=True)
class Listing:
    """A table of a model's parts. Its text is printable, and None is an empty cell."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]


@dataclass(frozen=True)
class RowDecisions:
    """The predictions of a model for each row, and columns with its reasons, by name."""

    classes: list[Value]  # the predicted class of each row
    reasons: dict[str, Any]  # the number of the leaf, or the totals
    probabilities: Floats  # class probabilities, shape (n_rows, n_classes)
    explained: Callable[[], dict[str, Any]]  # returns the reasons as text, with the released values behind them


class Model(SealedFile):
    """A released model with its schema and privacy card.

    Subclasses are dataclasses that define its fields. `hedgerow.models.files` lists all of them.
    """

    schema: Schema
    privacy: PrivacyCard

    kind: ClassVar[str]  #: the kind of model in messages and titles
    decides_by: ClassVar[str]  #: a phrase that follows the kind in messages, such as "adds up points"
    has_points: ClassVar[bool] = False  #: True if it adds up points, so that each row has a total
    costs: CostTable | None = None  #: the costs that the fit minimised, by actual class, then by predicted class
    contents: tuple[Content, ...] = ()  #: other data in the file that it was read from; `save` does not write them

    def with_contents(self, contents: tuple[Content, ...]) -> Self:
        """Return the model with other contents of the file that it was read from."""
        model = copy(self)
        object.__setattr__(model, "contents", contents)
        return model

    @property
    def bin_supports(self) -> tuple[Support, ...]:
        """The released rows of each bin, one attribute after the other; empty if none were released."""
        return ()

    @property
    def name(self) -> str:
        """The name of the kind on the command line and in requests, such as ``rule-list``."""
        return self.format.removeprefix(OURS)

    @property
    @abstractmethod
    def used_attributes(self) -> tuple[str, ...]:
        """The attributes that the model uses, in the order of the schema."""

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """The sizes of the model, by the learner parameters that bound them."""

    @property
    @abstractmethod
    def size(self) -> ModelSize:
        """The size of the model; ``str(model.size)`` is a phrase such as "tree with 6 leaves, depth 3"."""

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves with their released values; empty for a model without leaves."""
        return ()

    @property
    def paths(self) -> tuple[DecisionPath, ...]:
        """The decision path of each leaf: its literals, each with its truth value; the first matching path decides."""
        return ()

    @cached_property
    def leaf_release(self) -> LeafRelease:
        """The released values of the leaves; empty for a model without leaves."""
        return LeafRelease((), self.schema.target, None)

    @property
    def has_counts(self) -> bool:
        """True if counts were released for any leaf."""
        return self.leaf_release.kind == "counts"

    @property
    @abstractmethod
    def outcomes(self) -> tuple[Any, ...]:
        """The prediction of each outcome; `outcomes_of` returns indices into it."""

    @abstractmethod
    def outcomes_of(self, bins: Mapping[str, Whole], n_rows: int) -> Index:
        """Return the index in `outcomes` for each row, from its bin in each used attribute."""

    @abstractmethod
    def score_bands(self, most: int) -> ScoreBands:
        """Return about `most` public bands of the predicted probabilities, at least one for each predicted class.

        They follow from the model alone. SchemaError if it predicts a number.
        """

    @abstractmethod
    def decisions(self, X: Any) -> RowDecisions:
        """Return the prediction of each row with its reasons; see `predict` for `X` and errors."""

    @abstractmethod
    def listings(self) -> tuple[Listing, ...]:
        """Return the parts of the model as tables for a report."""

    def _encoded(self, X: Any) -> tuple[dict[str, BinCodes], int]:
        """Return the bin of each row in each used attribute, and the number of rows."""
        table = Table.of(X)
        return self.schema.encode(table, self.used_attributes), len(table)

    def predict(self, X: Any) -> Array:
        """Return the predicted class of each row, shape ``(n_rows,)``.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows. A frame needs only the columns that the model uses. The columns of an array are read by position, in
            the order of all attributes of the schema.

        Raises
        ------
        DomainError
            If a column that the model uses is absent, or contains values that the schema does not allow.
        """
        return np.array(self.outcomes)[self.outcomes_of(*self._encoded(X))]

    @abstractmethod
    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities of each row, shape ``(n_rows, n_classes)``; see `predict`.

        If only labels were released, each probability is 0 or 1, with a `LabelsOnlyWarning`.
        """

    @property
    @abstractmethod
    def has_shares(self) -> bool:
        """True if the model has class probabilities in addition to labels."""

    def decide(self, X: Any, *, class_weight: ClassWeight | None = None, costs: Costs | None = None) -> Array:
        """Return the class with the lowest expected cost for each row, shape ``(n_rows,)``.

        Only the released probabilities and public costs are used, so this is post-processing and costs no ε. `predict`
        and the exports to SQL and Python treat all errors as equally costly.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows, as in `predict`.
        class_weight : mapping of class to float, optional
            The cost of any error for a row of the class, > 0. Default for classes that are not given: 1.
        costs : mapping of class to mapping of class to float, optional
            ``costs[actual][decided]``, the cost of deciding for a class if the row belongs to another class. Required
            for all errors; the default for correct decisions is 0. Pass either `costs` or `class_weight`.

        Raises
        ------
        TypeError
            If only labels were released, so that all probabilities are 0 or 1.
        ValueError
            If a class is unknown, or a cost is missing or not finite.

        References
        ----------
        Elkan, *The Foundations of Cost-Sensitive Learning*, IJCAI 2001, Section 1.
        """
        classes = self.schema.classes
        matrix = cost_matrix(classes, class_weight=class_weight, costs=costs)
        if not self.has_shares:
            problem = f"decisions by cost need probabilities, but this {self.kind} was released with labels only"
            raise ArgumentTypeError(f"{problem}; fit it with release_counts=True or objective='mixed'.")
        numbers = {value: number for number, value in enumerate(classes)}
        predicted = np.array([numbers[value] for value in self.predict(X).tolist()], dtype=np.intp)
        return np.array(classes)[decisions(self.predict_proba(X), predicted, matrix)]

    @abstractmethod
    def feature_importances(self) -> dict[str, float]:
        """Return the importance of each used attribute: shares that add up to 1, or all 0.

        They are computed from points and released counts alone, which is post-processing and costs no ε. They contain
        noise: the importance of an attribute whose counts are within the noise is meaningless.

        - Scorecards: the mean absolute difference between the points of a row and their mean, with bins weighted by
          their released rows. If rows by bin were not released, the range of the points.
        - Trees and rule lists: the reduction of the impurity (Gini for classes, variance for numbers) by the tests of
          the attribute, as in scikit-learn. It uses the released counts, with negative counts set to 0, and the class
          shares estimated from them, if there are any.

        Raises
        ------
        TypeError
            If a tree or rule list was released without counts or sums for every leaf.
        """

    def to_sql(self, dialect: DialectName = "duckdb", *, types: ColumnTypes = "any") -> str:
        """Return a SQL expression that computes the prediction from the raw columns.

        By default, the expression accepts columns of any numeric type or text; surrounding white space is ignored. It
        also accepts boolean columns for boolean attributes, and date columns and timestamps without time zone for
        dates. Its result does not depend on settings of the connection, except on PostgreSQL's ``DateStyle`` for date
        columns.

        Missing values satisfy only ``is missing``, as in `predict`. `predict` raises an error for a value outside a
        domain with the policy "error". In SQL, such a value satisfies the literals whose comparison is true; text that
        is not a number satisfies no literal. A boolean is accepted for declared words and categories, because DuckDB
        reads yes and no in a file as booleans. PostgreSQL does not accept unusual spellings of numbers such as
        ``10e-150``.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake"}, default="duckdb"
            The engine. Tests run the expressions in DuckDB, PostgreSQL and Spark and compare them with `predict`.
            Expressions for BigQuery and Snowflake have not been run.
        types : {"any", "declared"}, default="any"
            The types of the columns.

            - "any": the expression converts each value, as described above.
            - "declared": plain comparisons without casts, for columns of the types that the schema declares. Integers,
              reals and lists of whole numbers may have any numeric type (decimals and integers of at most 15 digits).
              Booleans without declared words are BOOLEAN, dates are DATE, and all other attributes are text. Values are
              written as in the schema, without surrounding white space. A tree becomes one CASE with a case for each
              leaf. For rows that `predict` accepts, both forms predict the same. Derived attributes, dates with a
              `format`, and lists of both text and numbers use the form for any type.

        Raises
        ------
        ValueError
            If an argument is not one of these choices, or Spark would misread the name of a column.

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

        chosen = dialect_named(dialect, types)
        return sql.expression(self._sql(chosen), chosen, self._guarantee)

    @abstractmethod
    def _sql(self, dialect: Dialect) -> list[str]:
        """Return the lines of the expression that `to_sql` returns."""

    @abstractmethod
    def to_python(self) -> str:
        """Return the source of a Python function ``predict(row)`` without dependencies.

        `row` maps the names of columns to cells, as returned by `csv.DictReader`, database drivers or NumPy. Cells are
        text, numbers, decimals, booleans, dates or times; None, NaN and blank text are missing values. The function
        reads each cell as `predict` reads it in a column of its type, and returns the same prediction. If `predict`
        raises an error for a cell, the function raises an error too, or treats a value outside the domain as satisfying
        no comparison. Cast PostgreSQL columns of type `real` to double precision, because psycopg reads their decimal
        digits, which are a different number.
        """

    @abstractmethod
    def to_pmml(self) -> str:
        """Return the model as PMML 4.4: a ``TreeModel``, ``RuleSetModel`` or ``Scorecard``.

        Evaluators compare cells with the values as the schema writes them. Text is not trimmed, dates are YYYY-MM-DD,
        and the category 2 is not equal to 2.0 in a column of floats. For values that `predict` does not accept, an
        evaluator may or may not return a prediction.

        Raises
        ------
        ValueError
            If the model uses derived columns, is a scorecard for more than two classes or without attributes, is too
            large, or has names with control characters or names that PMML outputs use.
        """

    def _pmml_document(self, own: Element) -> str:
        return pmml_document(own, self.schema, self.used_attributes, self.privacy)

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the model, and return the axes."""

    def form(self, ax: Axes | None = None, *, language: Language = "en") -> Axes:  # noqa: ARG002 -- scorecards only
        """Draw a form to print and to fill in by hand, and return the axes; ValueError unless it is a scorecard."""
        raise ArgumentError(f"only scorecards have a form to fill in by hand, got a {self.kind}; plot it instead.")

    def scaled(self, *, pdo: float, score: float, odds: float, favourable: Value) -> Self:  # noqa: ARG002 -- scorecards
        """Return the model on a scale on which `pdo` points double the odds; ValueError unless it is a scorecard."""
        raise ArgumentError(f"only scorecards can be scaled to points that double the odds, got a {self.kind}.")

    def reasons(self, X: Any, *, favourable: Value | None = None) -> Array:  # noqa: ARG002 -- scorecards only
        """Return the attributes by which each row loses the most points; ValueError unless it is a scorecard."""
        raise ArgumentError(f"only scorecards have reason codes, got a {self.kind}; use `hedgerow predict --explain`.")

    @property
    def _meanings(self) -> tuple[tuple[str, str], ...]:
        """Attributes with their descriptions; attributes with the same description share an entry."""
        names = dict[str, list[str]]()
        for name in self.used_attributes:
            if self.schema[name].meaning:
                names.setdefault(self.schema[name].meaning, []).append(printable(name))
        return tuple((", ".join(described), meaning) for meaning, described in names.items())

    @property
    @abstractmethod
    def _text(self) -> str:
        """The parts of the model as text that fits a page."""

    @property
    def _full_text(self) -> str:
        """All parts of the model as text."""
        return self._text

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """Reasons why the model or a leaf is of little use, from released values alone; empty without charges."""
        if language() not in self._known_caveats:
            self._known_caveats[language()] = tuple(self._caveats()) if self.privacy.charges else ()
        return self._known_caveats[language()]

    @cached_property
    def _known_caveats(self) -> dict[Language, tuple[Caveat, ...]]:
        """The computed caveats, by the language of their sentences; the computation can take a second."""
        return {}

    def _caveats(self) -> Iterator[Caveat]:
        return iter(())

    def __str__(self) -> str:
        return self._with_remarks(self._text)

    def to_text(self) -> str:
        """Return the whole model as text. ``str(model)`` folds the parts that do not fit a page."""
        return self._with_remarks(self._full_text)

    def _with_remarks(self, text: str) -> str:
        lines = [f"{names}: {meaning}" for names, meaning in self._meanings]
        lines += [f"caveat: {caveat.sentence}" for caveat in self._shown_caveats]
        return "\n".join([text, "", *lines]) if lines else text

    @property
    def _shown_caveats(self) -> list[Caveat]:
        return [caveat for caveat in self.caveats if caveat.kind != "empty"]  # see the leaves' notes

    @property
    @abstractmethod
    def _parts_html(self) -> str:
        """The parts of the model as an HTML fragment with escaped names and values."""

    @property
    def _body_html(self) -> Html:
        return Html(self._parts_html + self._caveats_html + self._terms_html)

    @property
    def _caveats_html(self) -> Html:
        return joined(*(element("p", _("Caveat: {caveat}", caveat=caveat.sentence)) for caveat in self._shown_caveats))

    @property
    def _terms_html(self) -> str:
        terms = [element("div", element("dt", names), element("dd", text)) for names, text in self._meanings]
        return element("dl", *terms) if terms else ""

    def _picture(self) -> tuple[str, str]:
        try:
            alternative = _("Plot of the {model}; the text below describes the same model", model=_(KINDS[self.kind]))
            return svg_of(self.plot, alternative), ""
        except HedgerowError as error:
            return "", str(error)

    def to_html(self) -> str:
        """Return the model and its privacy card as an HTML fragment with escaped names and values."""
        return self._body_html + element("pre", str(self.privacy))

    def to_page(self, *, language: Language = "en") -> str:
        """Return an HTML page to read and print: a plot of the model, its parts as text, and the privacy card.

        The page loads no other files and contains no scripts; names and values are escaped. If the model is too large
        to draw, the page has no plot.

        Parameters
        ----------
        language : {"en", "de", "fr"}, default="en"
            The language of the page.
        """
        check_choice("language", language, LANGUAGES)
        with in_language(language):
            return self._page()

    def _page(self) -> str:
        picture, problem = self._picture()
        label, title = self.schema.label, capitalised(_(KINDS[self.kind]))
        if label is not None:
            title = _("{model} for {target}", model=title, target=printable(label.name))
        named = {"title": title, "guarantee": printable(self.privacy.headline), "digest": self.to_dict()["digest"]}
        parts = {"picture": picture, "problem": problem, "body": self._body_html}
        return page_template().render(**named, **parts, card=Html(self.privacy.to_html()))

    def to_model_card(self) -> str:
        """Return the README of a model repository: YAML metadata with ε, δ, unit and digest, then Markdown."""
        return model_card(self.kind, str(self), self.schema, self.privacy, self.to_dict()["digest"])

    @abstractmethod
    def _structure(self) -> dict[str, Any]:
        """Return the entries of the file that are specific to this kind of model as JSON-ready data."""

    @classmethod
    @abstractmethod
    def _assemble(cls, schema: Schema, data: Mapping[str, Any], privacy: PrivacyCard) -> Self:
        """Return the model from the entries that `_structure` wrote."""

    @property
    def _guarantee(self) -> str:
        return guarantee_line(self.privacy)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON-ready data with a digest of its content."""
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
        text = self._parts_html + self._terms_html
        picture = self._picture()[0] if len(text) <= _MOST_DRAWN else ""
        svg = picture.replace("<svg", f'<svg style="{_DRAWN}"', 1)
        if len(text) > _MOST_SHOWN:
            text = element("p", f"{self!r} is too large to display here; write model.to_page() to a file.")
        drawn = [element("div", Html(svg), style=_PAPER)] if svg else []
        head = element("p", f"{self.kind.capitalize()}; {self._guarantee}.")
        parts = _folded("Model as text", text, **({} if svg else {"open": "open"}))
        card = _folded("Privacy card", self.privacy.to_html())
        return element("div", *drawn, head, self._caveats_html, parts, card, style=_WRAPPED)


def _folded(title: str, content: str, **attributes: str) -> Html:
    inner = element("div", Html(content), style="overflow-x:auto;overflow-wrap:break-word")
    return element("details", element("summary", title), inner, **attributes)


@cache
def page_template() -> "Template":
    return templates(Path(__file__).with_name("templates")).get_template("model.html")


def class_titles(name: str, classes: Sequence[Value]) -> list[str]:
    """Return a column title for each class, such as ``rows(yes)``."""
    return [f"{name}({value_text(value)})" for value in classes]
