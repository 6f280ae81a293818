"""Released rule lists with their text, plots and exports. No learning code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from hedgerow.boundary.arrays import Array
from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import Cases, Dialect, Path, Pieces, all_of, check_literals
from hedgerow.models.count_noise import CONFIDENCE
from hedgerow.models.decisions import CostTable, cost_table
from hedgerow.models.importance import Division
from hedgerow.models.leaf import Leaf
from hedgerow.models.leaf_groups import MOST_BARS, MOST_LINES, LeafGroup, list_groups
from hedgerow.models.leaf_model import LeafModel, NotedLines
from hedgerow.models.plot import NO_BREAK, check_drawable, class_bars, leaf_bars, number_bars, shortened
from hedgerow.models.pmml import first_match_node, rule_set_model, tree_model
from hedgerow.models.python_source import python_first_case
from hedgerow.models.size import RuleListSize
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Literal, Schema
from hedgerow.text.axes import Axes
from hedgerow.text.language import _, enumerated, gettext_noop, percent
from hedgerow.text.messages import number_of
from hedgerow.text.values import printable, shown_text


@dataclass(frozen=True)
class Rule:
    """An antecedent with the released values of the rows for which it is the first matching rule.

    Attributes
    ----------
    antecedent : tuple of Literal
        The conjunction; empty for the default rule.
    counts, label, probabilities, sums, mean : optional
        The released values of these rows; see `Leaf`.

    Raises
    ------
    ValueError
        If there are neither counts nor a label, or probabilities without a label.

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
        """Return a rule made of an antecedent and a leaf."""
        return cls(antecedent, leaf.counts, leaf.label, leaf.probabilities, leaf.sums, leaf.mean)

    @cached_property
    def leaf(self) -> Leaf:
        """The released counts or sums, label, probabilities and mean."""
        return Leaf(self.counts, self.label, self.probabilities, self.sums, self.mean)

    @property
    def condition(self) -> str:
        """The antecedent as text."""
        return " and ".join(map(str, self.antecedent))


@dataclass(frozen=True, repr=False)
class RuleList(LeafModel):
    """An ordered list of rules: the first rule whose antecedent holds predicts, and the default rule is last.

    All its contents are released: the schema, the rules with their counts or labels, and the privacy card.

    Attributes
    ----------
    schema : Schema
        The public schema of the rules.
    rules : tuple of Rule
        The rules; the last rule is the default rule, which has an empty antecedent.
    privacy : PrivacyCard
        The privacy budget spent and the guarantee.
    costs : tuple of tuple of float, optional
        The costs that the fit minimised, by actual class, then by predicted class. None if all errors had the same
        cost, or if the model predicts a number.

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
    costs: CostTable | None = None

    kind: ClassVar[str] = "rule list"
    leaf_name: ClassVar[str] = "rule"
    exclusive: ClassVar[bool] = False
    listing_title: ClassVar[str] = gettext_noop("Rules: the first matching rule decides")
    format: ClassVar[str] = "hedgerow/rule-list"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        if not self.rules or self.rules[-1].antecedent or not all(rule.antecedent for rule in self.rules[:-1]):
            raise ArgumentError("the last rule, and no other rule, must be a default rule with an empty antecedent.")
        object.__setattr__(self, "costs", cost_table(self.costs, self.schema.target))
        self.leaf_release  # noqa: B018 -- raises if it does not fit
        for rule in self.rules:
            check_literals(rule.antecedent, self.schema, "a rule")

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return self._leaves

    @cached_property
    def _leaves(self) -> tuple[Leaf, ...]:
        return tuple(rule.leaf for rule in self.rules)

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(tuple((literal, True) for literal in rule.antecedent) for rule in self.rules)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The antecedents as text; "otherwise" for the default rule."""
        return tuple(rule.condition or _("otherwise") for rule in self.rules)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of rules, and of literals in the longest rule."""
        return {"max_rules": len(self.rules), "max_literals": max(len(rule.antecedent) for rule in self.rules)}

    @property
    def size(self) -> RuleListSize:
        """The number of rules, of conditions in the longest rule, and a lower bound on the share of rows per rule."""
        return RuleListSize(len(self), self.sizes["max_literals"], self.leaf_release.smallest_share())

    @property
    def _divisions(self) -> tuple[Division, ...]:
        names = (dict.fromkeys(literal.attribute for literal in rule.antecedent) for rule in self.rules[:-1])
        return tuple(Division(tuple(own), i, i + 1, len(self.rules)) for i, own in enumerate(names))

    def _structure(self) -> dict[str, Any]:
        rules = (
            {"if": [literal.to_dict() for literal in rule.antecedent], **rule.leaf.to_dict(prediction)}
            for rule, prediction in zip(self.rules, self.predictions, strict=True)
        )
        return {"rules": list(rules), **self._costs_entry}

    @classmethod
    def _assemble(cls, schema: Schema, data: Mapping[str, Any], privacy: PrivacyCard) -> Self:
        rules: list[Rule] = []
        for rule in data["rules"]:
            rules.append(Rule.of(tuple(Literal.from_dict(x) for x in rule["if"]), Leaf.from_dict(rule)))
        return cls(schema, tuple(rules), privacy, data.get("costs"))

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
            confidences = shares if self.leaf_release.has_all_shares else []
            return self._pmml_document(rule_set_model(self._cases, confidences, self.schema))
        nodes = list(map(self._pmml_node, range(len(self))))
        root = first_match_node(nodes, self._cases, self.schema)
        return self._pmml_document(tree_model(self.schema.target, root, has_shares=False))

    def _python(self, written: Pieces[Literal]) -> list[str]:
        return python_first_case(self._cases, written)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a bar for each rule, and return the axes.

        Bars show the released counts, or else the drawn probabilities, or else the class only. If the model predicts a
        number, the length of a bar is the prediction. At most 20 bars are drawn: neighbouring rules that may have no
        rows, and the last rules, are folded into one bar.
        """
        groups, number = self._groups(MOST_BARS), self.schema.target.as_number
        check_drawable(len(groups), self.schema.target.n_levels if number is None else 1)
        rules = [self._bar_name(group) for group in groups]
        caption = enumerated([self._caption, *self._folding(groups)])
        by_group = [set(self.predictions[group.first : group.stop]) for group in groups]
        if number is not None:
            ends = [(min(predicted), max(predicted)) for predicted in by_group]
            return number_bars(rules, ends, number.low, printable(number.name), caption, ax)
        names = list(map(shown_text, self.schema.classes))
        if self.has_probabilities and not self.leaf_release.is_histogram:
            return leaf_bars(rules, self._drawn_bars(groups), names, caption, ax, _("probability"))
        if not self.has_counts:
            levels = [self.schema.classes.index(*predicted) if len(predicted) == 1 else None for predicted in by_group]
            return class_bars(rules, levels, names, caption, ax)
        noise = self.leaf_release.noise
        if noise is None:
            unit = _("released rows (the noise is not stated on the privacy card)")
        elif noise.is_exact:
            unit = _("released rows")
        else:
            unit = _(
                "released rows per class (± {rows} due to the noise, {confidence})",
                rows=noise.spread(1),
                confidence=percent(CONFIDENCE),
            )
        return leaf_bars(rules, self._bars(groups), names, caption, ax, unit)

    def _drawn_bars(self, groups: Sequence[LeafGroup]) -> Array:
        """Return the probabilities of each rule by class, NaN if they are not shown."""
        shares, release = np.full((len(groups), len(self.schema.classes)), np.nan), self.leaf_release
        for place, group in enumerate(groups):
            if release.support(group.first, group.stop).probability is not None:
                shares[place] = self.probabilities[group.first]
        return shares

    def _bars(self, groups: Sequence[LeafGroup]) -> Array:
        """Return the counts of each group by class, NaN if no bar is drawn."""
        counts, release = np.full((len(groups), len(self.schema.classes)), np.nan), self.leaf_release
        for place, group in enumerate(groups):
            support = release.support(group.first, group.stop)
            if support.rows is not None and not support.is_too_few:
                own = [release.counts_of(leaf) or () for leaf in range(group.first, group.stop)]
                counts[place] = np.sum(own, axis=0)
        return counts

    def _bar_name(self, group: LeafGroup) -> str:
        name, prediction = f"{group.first + 1}. {self._condition(group)}", self._prediction_text(group)
        if group.size > 1:
            name = _("{first}–{last}. any of these rules", first=group.first + 1, last=group.stop)
        elif self.rules[group.first].antecedent:
            literals = (str(literal).replace(" ", NO_BREAK) for literal in self.rules[group.first].antecedent)
            name = f"{group.first + 1}. {shortened(all_of([*literals]), 300)}"
        note = self._note(group) or (_("no counts were released") if self.leaf_release.has_rows else None)
        return f"{name} →{NO_BREAK}{shortened(prediction)}" + (f" ({note})" if note else "")

    def _groups(self, most: int | None) -> list[LeafGroup]:
        return list_groups(len(self.rules), self.leaf_release, most)

    def _shown_groups(self, *, is_full: bool) -> list[LeafGroup]:
        if is_full:
            return [LeafGroup(place, place + 1) for place in range(len(self.rules))]
        return self._groups(MOST_LINES)

    def _condition(self, group: LeafGroup) -> str:
        if group.size > 1:
            return _("any of rules {first} to {last}", first=group.first + 1, last=group.stop)
        return self.rules[group.first].condition or _("otherwise")

    def _lines(self, *, is_full: bool) -> NotedLines:
        return [(self._line(group), group) for group in self._shown_groups(is_full=is_full)]

    def _line(self, group: LeafGroup) -> str:
        prediction = self._prediction_text(group)
        if group.stop == len(self.rules):
            return f"{'else' if group.first else 'always'} {prediction}"
        return f"{'else if' if group.first else 'if'} {self._condition(group)} then {prediction}"

    def __repr__(self) -> str:
        return f"<RuleList of {number_of(len(self), 'rule')}; {self._guarantee}>"
