"""Rule lists with their text, SQL and Python: released models, public by construction. No learning code."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from hedgerow.errors import ArgumentError
from hedgerow.models import plot, pmml, python_source
from hedgerow.models.conditions import Cases, Dialect, Path, Pieces, check_literals
from hedgerow.models.count_noise import CONFIDENCE
from hedgerow.models.leaf import Leaf, check_leaves
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.size import RuleListSize
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Literal, Schema
from hedgerow.text.axes import Axes
from hedgerow.text.messages import number_of
from hedgerow.text.values import printable, shown_text


@dataclass(frozen=True)
class Rule:
    """An antecedent, and what was released about the rows that it is the first to match.

    Attributes
    ----------
    antecedent : tuple of Literal
        The conjunction; empty for the default rule.
    counts, label, probabilities, sums, mean : optional
        The release about these rows, as of a `Leaf`.

    Raises
    ------
    ValueError
        If there are neither counts nor a label, or probabilities without one.

    Examples
    --------
    >>> Rule((Literal("age", "<=", (30,)),), label="no").condition
    'age <= 30'
    """

    antecedent: tuple[Literal, ...]
    counts: tuple[int, ...] | None = None
    label: str | float | None = None
    probabilities: tuple[float, ...] | None = None
    sums: tuple[int, int] | None = None
    mean: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "antecedent", tuple(self.antecedent))
        for name in ("counts", "probabilities", "sums"):
            object.__setattr__(self, name, getattr(self.leaf, name))

    @classmethod
    def of(cls, antecedent: tuple[Literal, ...], leaf: Leaf) -> Self:
        """Return the rule of an antecedent and a leaf."""
        return cls(antecedent, leaf.counts, leaf.label, leaf.probabilities, leaf.sums, leaf.mean)

    @cached_property
    def leaf(self) -> Leaf:
        """The released counts or sums, label, probabilities and mean."""
        return Leaf(self.counts, self.label, self.probabilities, self.sums, self.mean)

    @property
    def condition(self) -> str:
        """The antecedent in words."""
        return " and ".join(map(str, self.antecedent))


@dataclass(frozen=True, repr=False)
class RuleList(LeafModel):
    """An ordered list of rules; the first one whose antecedent holds predicts, the default rule is last.

    Everything in it is released: the schema, the rules with their counts or labels, and the privacy card.

    Attributes
    ----------
    schema : Schema
        The public schema of the rules.
    rules : tuple of Rule
        The rules, the default rule (empty antecedent) last.
    privacy : PrivacyCard
        What was spent and what is guaranteed.

    Raises
    ------
    SchemaError
        If a rule does not fit the schema.
    ValueError
        If the default rule is missing or not last, or a rule's counts or label do not fit the classes.

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

    kind: ClassVar[str] = "rule list"
    leaf_name: ClassVar[str] = "rule"
    exclusive: ClassVar[bool] = False
    listing_title: ClassVar[str] = "The rules: the first that holds decides"
    format: ClassVar[str] = "hedgerow/rule-list"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        if not self.rules or self.rules[-1].antecedent or not all(rule.antecedent for rule in self.rules[:-1]):
            raise ArgumentError("expected one default rule, with an empty antecedent, as the last rule.")
        check_leaves(self.leaves, self.schema.target, self.leaf_name)
        for rule in self.rules:
            check_literals(rule.antecedent, self.schema, "a rule")

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(rule.leaf for rule in self.rules)

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(tuple((literal, True) for literal in rule.antecedent) for rule in self.rules)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The antecedents in words; "otherwise" for the default rule."""
        return tuple(rule.condition or "otherwise" for rule in self.rules)

    @property
    def sizes(self) -> dict[str, int]:
        """The rules, and the literals of the longest."""
        return {"max_rules": len(self.rules), "max_literals": max(len(rule.antecedent) for rule in self.rules)}

    @property
    def size(self) -> RuleListSize:
        """The rules, the conditions of the longest, and the share of the rows that every rule decides at least."""
        return RuleListSize(len(self), self.sizes["max_literals"], self._smallest_share)

    def _structure(self) -> dict[str, Any]:
        said = zip(self.rules, self.predictions, strict=True)
        rules = ({"if": [x.to_dict() for x in rule.antecedent], **rule.leaf.to_dict(then)} for rule, then in said)
        return {"rules": list(rules)}

    @classmethod
    def _assemble(cls, schema: Schema, data: Mapping[str, Any], privacy: PrivacyCard) -> Self:
        rules: list[Rule] = []
        for rule in data["rules"]:
            rules.append(Rule.of(tuple(Literal.from_dict(x) for x in rule["if"]), Leaf.from_dict(rule)))
        return cls(schema, tuple(rules), privacy)

    @property
    def _cases(self) -> Cases:
        return [(rule.antecedent, prediction) for rule, prediction in zip(self.rules, self.predictions, strict=True)]

    def _sql(self, dialect: Dialect) -> list[str]:
        from hedgerow.models import sql  # sqlglot takes long to import

        return sql.first_case(self._cases, self.schema, dialect)

    def to_pmml(self) -> str:
        if self.schema.target.as_number is None:
            places = map(self.schema.classes.index, self.predictions)
            shares = [float(row[place]) for row, place in zip(self.probabilities, places, strict=True)]
            return self._pmml_document(pmml.rule_set(self._cases, shares if self._all_have_shares else [], self.schema))
        nodes = list(map(self._pmml_node, range(len(self))))
        for one, (literals, _) in zip(nodes, self._cases, strict=True):
            one.insert(0, pmml.all_of([pmml.predicate(x, self.schema[x.attribute]) for x in literals]))
        root = pmml.always(pmml.made("Node", *nodes))
        return self._pmml_document(pmml.tree_model(self.schema.target, root, has_shares=False))

    def _python(self, written: Pieces[Literal]) -> list[str]:
        return python_source.first_case(self._cases, written)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw one bar a rule, and return the axes.

        It shows the drawn probabilities of a model that has such, else the released counts; else the class alone. Of a
        number, bars are as long as what the rules predict.
        """
        levels, notes, number = self._shown_levels, self._notes, self.schema.target.as_number
        plot.check_drawable(len(self.rules), len(levels))
        words = [" and ".join(str(x).replace(" ", plot.NO_BREAK) for x in rule.antecedent) for rule in self.rules]
        rules = [
            f"{i}. {plot.shortened(said or 'otherwise', 300)} "
            f"→{plot.NO_BREAK}{plot.shortened(shown_text(prediction))}"
            + (f" ({notes[i - 1]})" if self.has_probabilities and notes[i - 1] else "")
            for i, (said, prediction) in enumerate(zip(words, self.predictions, strict=True), 1)
        ]
        if number is not None:
            return plot.number_bars(rules, self.predictions, number.low, printable(number.name), self._caption, ax)
        names = list(map(shown_text, levels))
        if self.has_probabilities:
            return plot.leaf_bars(rules, self.probabilities, names, self._caption, ax, "probability")
        if not self.has_counts:
            return plot.class_bars(rules, [levels.index(c) for c in self.predictions], names, self._caption, ax)
        none = [np.nan] * len(names)
        counts = np.array([none if leaf.counts is None else leaf.counts for leaf in self.leaves], dtype=np.float64)
        unit = "released rows"
        if self._noise is None:
            unit += ", with noise that the card does not state"
        elif not self._noise.is_exact:
            unit += f", of each class off by at most {self._noise.spread(1):,} ({100 * CONFIDENCE:g} % by the noise)"
        return plot.leaf_bars(rules, counts, names, self._caption, ax, unit)

    @property
    def _text(self) -> str:
        last = len(self.rules) - 1
        heads = [
            f"{'' if i == last else 'if ' if i == 0 else 'else if '}{rule.condition}"
            f"{('else' if last else 'always') if i == last else ' then'} "
            f"{shown_text(prediction)}"
            for i, (rule, prediction) in enumerate(zip(self.rules, self.predictions, strict=True))
        ]
        return self._noted(heads, self._notes)

    def __repr__(self) -> str:
        return f"<RuleList of {number_of(len(self), 'rule')}; {self._guarantee}>"
