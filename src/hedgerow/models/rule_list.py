"""The rule list: a released model, public by construction. No learning code here."""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.columns import Table
from hedgerow.errors import ModelFormatError, SchemaError
from hedgerow.models import envelope, plot, python_source, sql
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema
from hedgerow.values import value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMAT = "hedgerow/rule-list"
NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class Rule:
    """If all literals of the antecedent hold, then these are the released counts.

    Attributes
    ----------
    antecedent : tuple of Literal
        The conjunction; empty for the default rule.
    counts : tuple of int
        Released rows of each class, in the order of the schema's classes. Noisy counts may be negative.
    """

    antecedent: tuple[Literal, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "antecedent", tuple(self.antecedent))
        object.__setattr__(self, "counts", tuple(map(operator.index, self.counts)))

    @property
    def condition(self) -> str:
        """The antecedent in words."""
        return " and ".join(map(str, self.antecedent))


@dataclass(frozen=True)
class RuleList:
    """An ordered list of rules; the first whose antecedent holds decides, the last one catches the rest.

    Everything in it is released: the schema, the rules, the counts they were given and the privacy card.

    Attributes
    ----------
    schema : Schema
        The public schema the rules speak of.
    rules : tuple of Rule
        The rules, the default rule (empty antecedent) last.
    privacy : PrivacyCard
        What was spent and what is guaranteed.

    Raises
    ------
    SchemaError
        If a rule does not fit the schema.
    ValueError
        If the default rule is missing or not last, or a rule's counts do not fit the classes.

    Examples
    --------
    >>> from hedgerow.schema import Integer, Label, Literal, Schema
    >>> schema = Schema({"age": Integer(17, 90, cuts=(30, 45))}, Label("ill", ("no", "yes")))
    >>> young = Rule((Literal("age", "<=", (30,)),), (90, 10))
    >>> print(RuleList(schema, (young, Rule((), (40, 60))), PrivacyCard.none("example", software="hedgerow")))
    if age <= 30 then no    # 90.0 % of 100
    else yes                # 60.0 % of 100
    """

    schema: Schema
    rules: tuple[Rule, ...]
    privacy: PrivacyCard

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        if not self.rules or self.rules[-1].antecedent or not all(rule.antecedent for rule in self.rules[:-1]):
            raise ValueError("expected one default rule, with an empty antecedent, in the last place.")
        for rule in self.rules:
            if len(rule.counts) != len(self.schema.classes):
                raise ValueError(f"expected {len(self.schema.classes)} counts a rule, got {len(rule.counts)}.")
            for literal in rule.antecedent:
                if literal.attribute not in self.schema:
                    raise SchemaError("is used by a rule but not declared.", attribute=literal.attribute)
                self.schema[literal.attribute].truth(literal)

    def __len__(self) -> int:
        return len(self.rules)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Estimated class probabilities of each rule from the released counts, shape ``(n_rules, n_classes)``.

        Negative counts count as 0; a rule left without any count takes the share of each class in the whole list.
        """
        counts = np.maximum(np.array([rule.counts for rule in self.rules], dtype=np.float64), 0.0)
        whole = counts.sum(axis=0) if counts.sum() > 0 else np.ones(counts.shape[1])
        counts[counts.sum(axis=1) == 0] = whole
        counts /= counts.sum(axis=1, keepdims=True)
        counts.setflags(write=False)
        return counts

    @cached_property
    def predictions(self) -> tuple[Any, ...]:
        """The class each rule predicts: the most probable one, the first of equals."""
        return tuple(self.schema.classes[k] for k in self.probabilities.argmax(axis=1))

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Return which rule catches each row, shape ``(n_rows,)``, counted from 0.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_attributes)
            Rows. Of a frame only the columns that the rules use are needed.

        Raises
        ------
        DomainError
            If a column that the rules use is absent or holds values the schema does not allow.
        """
        table = Table.of(X)
        used = {literal.attribute for rule in self.rules for literal in rule.antecedent}
        cells = self.schema.encode(table, [name for name in self.schema.names if name in used])
        caught = np.full(len(table), len(self.rules) - 1)
        for index in range(len(self.rules) - 2, -1, -1):
            true = np.ones(len(table), dtype=bool)
            for literal in self.rules[index].antecedent:
                true &= self.schema[literal.attribute].truth(literal)[cells[literal.attribute]]
            caught[true] = index
        return caught

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each row, shape ``(n_rows,)``; see `apply` for `X` and errors."""
        return np.array(self.predictions)[self.apply(X)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of each row, shape ``(n_rows, n_classes)``; see `apply` for `X` and errors."""
        return self.probabilities[self.apply(X)]

    def get_rules(self) -> list[dict[str, Any]]:
        """Return one record a rule: number, condition, prediction, its probability, released counts by class.

        ``pandas.DataFrame(model.get_rules())`` makes a frame of it.
        """
        return [
            {
                "rule": number,
                "condition": rule.condition or "otherwise",
                "prediction": prediction,
                "probability": float(probabilities.max()),
                "counts": dict(zip(self.schema.classes, rule.counts, strict=True)),
            }
            for number, (rule, prediction, probabilities) in enumerate(
                zip(self.rules, self.predictions, self.probabilities, strict=True), start=1
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON-ready data, sealed with a digest of its content."""
        return envelope.seal(
            {
                "format": FORMAT,
                "version": 1,
                "schema": self.schema.to_dict(),
                "schema_digest": self.schema.digest,
                "rules": [
                    {
                        "if": [x.to_dict() for x in rule.antecedent],
                        "then": prediction,
                        "counts": list(rule.counts),
                    }
                    for rule, prediction in zip(self.rules, self.predictions, strict=True)
                ],
                "privacy": self.privacy.to_dict(),
            }
        )

    def to_json(self) -> str:
        """Return the model as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what `to_json` wrote.

        Raises
        ------
        ModelFormatError
            If the text is truncated, was edited, or is of another format or version.
        """
        data = envelope.unseal(text, format=FORMAT, version=1)
        try:
            rules = tuple(
                Rule(
                    tuple(Literal.from_dict(x) for x in rule["if"]),
                    tuple(int(count) for count in rule["counts"]),
                )
                for rule in data["rules"]
            )
            model = cls(Schema.from_dict(data["schema"]), rules, PrivacyCard.from_dict(data["privacy"]))
            problem = None if model.to_dict()["digest"] == data["digest"] else "its parts contradict one another"
        except (ArithmeticError, KeyError, TypeError, ValueError) as error:
            model, problem = None, f"{type(error).__name__}: {error}"
        if model is None or problem:
            raise ModelFormatError(f"not a valid rule list: {problem}.")
        return model

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a JSON file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model from a JSON file; raises as `from_json` does, and OSError."""
        return cls.from_json(envelope.read_text(path))

    def to_sql(self) -> str:
        """Return a CASE expression in DuckDB's SQL that gives the predicted class from the raw columns.

        Columns may be BOOLEAN, of any number type, or VARCHAR, spaces around the text left out. A value outside a
        domain whose policy is an error makes `predict` raise; in SQL it satisfies the literals that compare true with
        it. DuckDB writes NaN as the word ``nan``, which is therefore missing unless it is a category.
        """
        return sql.case_expression(self._cases(), f"guarantee: {self.privacy.headline}")

    def to_python(self) -> str:
        """Return the source of a Python function ``predict(row)`` that needs nothing installed.

        `row` maps the names of columns to values typed as the schema types them: booleans or 0 and 1, numbers, text;
        None, NaN or blank text where missing. Unlike `predict` it does not check domains.
        """
        return python_source.function(self._cases(), f"guarantee: {self.privacy.headline}")

    def _cases(self) -> sql.Cases:
        return [
            ([(literal, self.schema[literal.attribute]) for literal in rule.antecedent], prediction)
            for rule, prediction in zip(self.rules, self.predictions, strict=True)
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the released counts of every rule as one bar a rule, and return the axes."""
        return plot.leaf_bars(
            [
                f"{i}. {' and '.join(str(x).replace(' ', NO_BREAK) for x in rule.antecedent) or 'otherwise'} "
                f"→{NO_BREAK}{value_text(prediction)}"
                for i, (rule, prediction) in enumerate(zip(self.rules, self.predictions, strict=True), 1)
            ],
            np.array([rule.counts for rule in self.rules]),
            [value_text(value) for value in self.schema.classes],
            self.privacy.headline,
            ax,
        )

    def __str__(self) -> str:
        last = len(self.rules) - 1
        heads = [
            f"{'' if i == last else 'if ' if i == 0 else 'else if '}{rule.condition}{'else' if i == last else ' then'} "
            f"{value_text(prediction)}"
            for i, (rule, prediction) in enumerate(zip(self.rules, self.predictions, strict=True))
        ]
        width = max(map(len, heads)) + 4
        return "\n".join(
            f"{head:<{width}}# {100 * probabilities.max():.1f} % of {max(sum(rule.counts), 0)}"
            for head, rule, probabilities in zip(heads, self.rules, self.probabilities, strict=True)
        )

    def __repr__(self) -> str:
        return f"<RuleList of {len(self)} rules; guarantee: {self.privacy.headline}>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """Return the rules and the card as an HTML fragment; names and values are escaped."""
        head = "".join(f"<th>{escape(value_text(value))}</th>" for value in self.schema.classes)
        rows = "".join(
            f"<tr><td>{row['rule']}</td><td style='text-align:left'>{escape(row['condition'])}</td>"
            f"<td><b>{escape(value_text(row['prediction']))}</b></td><td>{100 * row['probability']:.1f} %</td>"
            + "".join(f"<td>{count}</td>" for count in row["counts"].values())
            + "</tr>"
            for row in self.get_rules()
        )
        return (
            f"<table><thead><tr><th></th><th>if</th><th>then</th><th>probability</th>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table><pre>{escape(str(self.privacy))}</pre>"
        )
