"""Reader of PMML: decision trees (including R's rpart), rule sets and scorecards. Other features raise errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import takewhile
from math import gcd, lcm
from typing import Any, NoReturn

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.errors import ModelFormatError
from hedgerow.models.leaf import Leaf
from hedgerow.models.model import Model
from hedgerow.models.points import MOST_POINTS, AttributePoints
from hedgerow.models.readers import attribute_tests
from hedgerow.models.readers.attribute_tests import MOST_PARTS, AttributeTest, BinChoice, TestedSchema
from hedgerow.models.readers.documents import Document, Element, document
from hedgerow.models.readers.pmml_contents import contents_of, guarantee_facts
from hedgerow.models.readers.pmml_fields import PmmlField, fields_of
from hedgerow.models.readers.pmml_forms import MODELS, listed
from hedgerow.models.readers.pmml_nodes import (
    PREDICATES,
    answers,
    conjuncts,
    field_of,
    is_surrogate,
    leaf_counts,
    predicate_of,
    test_of,
    tests_of,
)
from hedgerow.models.readers.rules_text import literals_of
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.scorecard import Scorecard
from hedgerow.privacy.facts import Fact
from hedgerow.schema import Attribute, Number, Schema
from hedgerow.text.messages import shown

_NONE, _MISSING = -1, -2
_MOST_CHILDREN = 100
_BEFORE = ("Header", "MiningBuildTask", "DataDictionary", "TransformationDictionary")  # elements before the model


def model_of_pmml(text: str, schema: Schema | None) -> Model:
    parsed = document(text)
    models = [element for element in parsed.root.children if element.tag not in _BEFORE]
    if parsed.root.tag != "PMML" or len(models) != 1 or models[0].tag not in MODELS:
        got = ", ".join(shown(element.tag) for element in models[:3]) or "none"
        raise ModelFormatError(f"expected PMML with one model ({', '.join(MODELS)}), got {got}.")
    for _ in listed(parsed.root):  # raises an error for everything that is not listed, before anything is read
        pass
    reader = _Pmml(parsed, models[0], schema)
    return reader.read().with_contents(contents_of(parsed, models[0], schema, counts=reader.counts))


@dataclass
class _Pmml:
    """A model in a document, with the schema passed for it."""

    document: Document
    model: Element
    given: Schema | None
    counts: Mapping[Element, Mapping[str, int]] = field(default_factory=dict[Element, dict[str, int]])  # of leaves

    @cached_property
    def fields(self) -> Mapping[str, PmmlField]:
        return fields_of(self.document.root.all("DataDictionary"), self.model)

    @cached_property
    def target(self) -> PmmlField | None:
        """The predicted field, if the document names it."""
        targets = [
            pmml_field
            for pmml_field in self.fields.values()
            if pmml_field.mining is not None and pmml_field.mining.given.get("usageType") in ("target", "predicted")
        ]
        if len(targets) > 1:
            targets[1].data.refuse("only one field may have the usageType target; this is the second")
        return targets[0] if targets else None

    @property
    def is_number(self) -> bool:
        """True if the model predicts a number."""
        is_number = self.model.need("functionName") == "regression"
        if is_number and self.target is not None and not self.target.is_number:
            self.target.data.refuse("the target of a regression must be continuous")
        if self.given is not None and (self.given.target.as_number is not None) != is_number:
            kind, other = ("a number", "classes") if is_number else ("classes", "a number")
            self.model.refuse(f"the model predicts {kind}, but the label of the schema is {other}")
        return is_number

    def score(self, text: str, place: Element) -> str:
        """Return a score in the spelling of the type of the target."""
        target = self.target
        if target is None:
            return text
        if target.is_number and not self.is_number:  # the names of classes
            return text
        score = target.spelled_value(text, place)
        if target.valid and score not in target.valid:
            place.refuse(f"a score must be one of the Values of the target, got {shown(text)}")
        number = AttributeTest(target.name, "=", (score,), place.line).number if self.is_number else None
        if number is not None and target.type == "integer" and not number.is_integer():
            place.refuse(f"the score of an integer target must be a whole number, got {shown(text)}")
        if number is not None and target.type == "float":
            return repr(float(np.float32(number)))
        return score

    def read(self) -> Model:
        card = attribute_tests.no_guarantee("PMML", is_ours=bool(guarantee_facts(self.document.root)))
        if self.model.tag == "TreeModel":
            return self._tree(card)
        return self._rule_set(card) if self.model.tag == "RuleSetModel" else self._scorecard(card)

    def tested_schema(self, parts: Sequence[Element], scores: Sequence[str]) -> TestedSchema:
        """Return the given schema, or a schema derived from the tests, with all cut points of the model."""
        predicates = [predicate for part in parts for predicate in part.all(*PREDICATES)]
        tests = [self.spelled(test) for predicate in predicates for test in tests_of(predicate)]
        tested = dict.fromkeys(test.attribute for test in tests if test.attribute in self.fields)
        schema = self.given
        if schema is None:
            hidden = self._never_missing(parts, tests)
            declared = {name: self._attribute(name, tests, never_missing=name in hidden) for name in tested}
            name = "prediction" if self.target is None else self.target.name
            schema = attribute_tests.derived(
                tests, attribute_tests.target_of(name, scores, is_number=self.is_number), declared
            )
        else:
            used = {name for name in tested if name in schema}
            narrowed = ((name, self.fields[name].narrowed(x) if name in used else x) for name, x in schema.attributes)
            narrow = replace(schema, attributes=tuple(narrowed))
            schema = schema if narrow == schema else replace(narrow, no_guarantee=(_NARROWED,))
        cut = TestedSchema.of(schema, tests)
        return replace(cut, absent={name: self.fields[name].absent(cut.schema[name]) for name in tested})

    def spelled(self, test: AttributeTest) -> AttributeTest:
        """Return a test with its constants in the spelling of the type of its field."""
        tested = self.fields.get(test.attribute)
        if tested is None:
            raise test.problem(f"the tested field {shown(test.attribute)} has no DataField.")
        if tested.mining is not None and tested.mining.given.get("usageType", "active") != "active":
            tested.mining.refuse(f"the model tests the field {shown(test.attribute)}, so its usageType must be active")
        return tested.spelled(test)

    def answers(self, refined: TestedSchema, predicate: Element) -> tuple[Mask, Mask]:
        return answers(lambda test: refined.answers(self.spelled(test)), predicate)

    def _never_missing(self, parts: Sequence[Element], tests: Sequence[AttributeTest]) -> set[str]:
        """Return the fields whose missing values have no prediction, or a prediction by surrogate fields."""
        refused = {name for name, pmml_field in self.fields.items() if pmml_field.refuses_missing}
        surrogates = [x for part in parts for x in part.all("CompoundPredicate") if is_surrogate(x)]
        refused |= {test.attribute for predicate in surrogates for test in tests_of(predicate)}
        if self.model.tag != "TreeModel":
            return refused
        strategy, last = self.strategy
        if strategy == "nullPrediction" or (strategy == "none" and last == "returnNullPrediction"):
            return refused | (set(self.fields) - {test.attribute for test in tests if not test.values})
        return refused

    @property
    def strategy(self) -> tuple[str, str]:
        given = self.model.given
        return given.get("missingValueStrategy", "none"), given.get("noTrueChildStrategy", "returnNullPrediction")

    def _attribute(self, name: str, tests: Sequence[AttributeTest], *, never_missing: bool) -> Attribute:
        own = [test for test in tests if test.attribute == name]
        return self.fields[name].attribute(own, never_missing=never_missing)

    def _tree(self, card: Any) -> Model:
        root = self.model.first("Node") or self.model.refuse("a TreeModel must have a Node")
        nodes = [element for element in root.walk() if element.tag == "Node"]
        for node in nodes:
            predicate_of(node)
        if root.first("True") is None:
            root.refuse("the predicate of the first Node must be True")
        scores = [self.score(node.given["score"], node) for node in nodes if "score" in node.given]
        classes = [self.score(x.need("value"), x) for node in nodes for x in node.all("ScoreDistribution")]
        refined = self.tested_schema(nodes, scores if self.is_number else [*scores, *classes])
        counts = {} if self.is_number else leaf_counts(nodes, self.score)
        self.counts = counts
        growth = _Growth(refined, self, counts)
        model = attribute_tests.model_of(refined, growth.grown(root), card)
        _check_used(model, growth.tested)
        return model

    def _rule_set(self, card: Any) -> Model:
        rule_set = self.model.first("RuleSet") or self.model.refuse("a RuleSetModel must have a RuleSet")
        method = rule_set.first("RuleSelectionMethod") or rule_set.refuse("a RuleSet must have a RuleSelectionMethod")
        method.one_of("criterion", "", "firstHit")
        elements = rule_set.all("SimpleRule")
        if len(elements) > MOST_PARTS:
            elements[MOST_PARTS].refuse(f"a RuleSet may have at most {MOST_PARTS:,} rules, got {len(elements):,}")
        scores = [self.score(element.need("score"), element) for element in elements]
        scores.append(self.score(rule_set.need("defaultScore"), rule_set))
        refined = self.tested_schema(elements, scores)
        rules = list[Rule]()
        for element, score in zip(elements, scores, strict=False):
            tests = [self.spelled(test_of(simple)) for simple in conjuncts(predicate_of(element))]
            literals = [literal for test in tests for literal in literals_of(refined, test)]
            rules.append(Rule.of(tuple(dict.fromkeys(literals)), refined.leaf(score, None, element.line)))
            if not literals:  # every row satisfies the rule
                break
        else:
            rules.append(Rule.of((), refined.leaf(scores[-1], None, rule_set.line)))
        return RuleList(refined.schema, tuple(rules), card)

    def _scorecard(self, card: Any) -> Model:
        if self.target is not None and self.target.type == "float":
            self.target.data.refuse('dataType="float" of the target of a Scorecard is not supported; use double')
        parts = [part for group in self.model.all("Characteristics") for part in group.all("Characteristic")]
        bins = [element for part in parts for element in part.all("Attribute")]
        if len(bins) > MOST_PARTS or not bins:
            self.model.refuse(f"a Scorecard must have 1 to {MOST_PARTS:,} Attributes, got {len(bins):,}")
        start = self.amount(self.model, "initialScore", "0")
        points = [[self.amount(element, "partialScore") for element in part.all("Attribute")] for part in parts]
        low, high = (start + sum((end(x) for x in points if x), Fraction(0)) for end in (min, max))
        refined = self.tested_schema(bins, [repr(float(low)), repr(float(high))])
        number = refined.schema.target.as_number if self.is_number else None
        if number is None or low < Fraction(number.low) or high > Fraction(number.high):
            ends = f"from {float(low):g} to {float(high):g}"
            self.model.refuse(f"the label of the schema must be a number whose bounds contain all scores, {ends}")
        scorecard = self._points(refined, number, parts, start, card)
        predicates = ((element, predicate_of(element)) for element in bins)
        _check_used(scorecard, {field_of(test): element for element, test in predicates if test.tag != "True"})
        return scorecard

    def _points(
        self, refined: TestedSchema, number: Number, parts: Sequence[Element], start: Fraction, card: Any
    ) -> Scorecard:
        """Return the scorecard of a number, whose unit is the greatest common divisor of all scores."""
        by_field: dict[str, list[Fraction]] = {}
        for part in parts:
            name, scores = self._bin_scores(refined, part)
            previous = by_field.get(name, [Fraction(0)] * len(scores))
            by_field[name] = [x + y for x, y in zip(previous, scores, strict=True)]
        amounts = [start - Fraction(number.low), *(x for scores in by_field.values() for x in scores)]
        denominator = lcm(*(x.denominator for x in amounts))
        unit = Fraction(gcd(*(int(x * denominator) for x in amounts)) or denominator, denominator)
        if any(abs(x / unit) > MOST_POINTS for x in amounts):
            parts[0].refuse(
                f"all scores must be at most {MOST_POINTS:,} times a common unit; round them to fewer digits"
            )
        rows = [AttributePoints(name, tuple((int(x / unit),) for x in scores)) for name, scores in by_field.items()]
        return Scorecard(refined.schema, (int(amounts[0] / unit),), tuple(rows), float(unit), None, card)

    def _bin_scores(self, refined: TestedSchema, part: Element) -> tuple[str, list[Fraction]]:
        """Return the field of a Characteristic, and the score of each of its bins."""
        elements = part.all("Attribute")
        names = {test.attribute for element in elements for test in tests_of(predicate_of(element))}
        if len(names) != 1:
            part.refuse(f"a Characteristic must test exactly one field, got {len(names)}")
        name = names.pop()
        open_bins, scores = (
            np.ones(refined.schema[name].n_bins, dtype=bool),
            [Fraction(0)] * refined.schema[name].n_bins,
        )
        for element in elements:
            predicate = predicate_of(element)
            yes = np.ones_like(open_bins) if predicate.tag == "True" else self.answers(refined, predicate)[0]
            for place in np.flatnonzero(yes & open_bins):
                scores[place] = self.amount(element, "partialScore")
            open_bins &= ~yes
        if open_bins.any():
            problem = f"some values of {shown(name)} that the schema allows have no Attribute with a score"
            part.refuse(f"{problem}; declare `missing: error` and `outside: error` for it in a schema")
        return name, scores

    def amount(self, element: Element, name: str, default: str | None = None) -> Fraction:
        text = element.given.get(name, default) or element.need(name)
        number = Fraction(text) if len(text) <= _LONGEST_AMOUNT else attribute_tests.LARGEST
        if abs(number) >= attribute_tests.LARGEST:
            element.refuse(f"{name} must be a number below 1e150")
        if self.target is not None and self.target.type == "integer" and Fraction(number).denominator != 1:
            element.refuse(f"{name} must be a whole number, because the target is an integer")
        return Fraction(number)


def _check_used(model: Model, tested: Mapping[str, Element]) -> None:
    """Raise an error for tests that all values pass: evaluators make no prediction for invalid or missing values."""
    for name in (name for name in tested if name not in model.used_attributes):
        problem = f"the tests of {shown(name)} do not distinguish any allowed values"
        tested[name].refuse(f"{problem}; export the model without them")


_NARROWED = Fact("narrowed")
_LONGEST_AMOUNT = 60  # characters of a score


@dataclass(frozen=True)
class _Growth:
    """The construction of a tree from the nodes of a document, with its rules for missing values."""

    refined: TestedSchema
    reader: _Pmml
    counts: Mapping[Element, Mapping[str, int]]  # rows of the leaves by class
    tested: dict[str, Element] = field(default_factory=dict[str, Element])  # the tested fields that can be reached
    visits: list[Element] = field(default_factory=list[Element])  # the nodes, once for each copy in the tree

    @property
    def missing(self) -> str:
        return self.reader.strategy[0]

    def grown(self, node: Element) -> BinChoice | Leaf:
        self.visits.append(node)
        if len(self.visits) > MOST_PARTS:
            node.refuse(f"the tree has more than {MOST_PARTS:,} Nodes, counting copies for missing values")
        children = node.all("Node")
        if len(children) > _MOST_CHILDREN:
            node.refuse(f"a Node may have at most {_MOST_CHILDREN} children, got {len(children):,}")
        return self._choice(node, children, children) if children else self._leaf(node)

    def _choice(self, node: Element, children: Sequence[Element], left: Sequence[Element]) -> BinChoice | Leaf:
        """Return the subtree for rows that satisfy none of the children before the children in `left`."""
        if not left:
            return self._leaf(node) if self.reader.strategy[1] == "returnLastPrediction" else self._nothing(node)
        if predicate_of(left[0]).tag == "True":
            return self.grown(left[0])
        name = field_of(predicate_of(left[0]))
        self.tested.setdefault(name, left[0])
        predicates = map(predicate_of, left)
        n_same = len([*takewhile(lambda test: test.tag != "True" and field_of(test) == name, predicates)])
        same = left[:n_same]
        targets = self._targets(node, same, name)
        subtrees: dict[int, BinChoice | Leaf] = {}
        for target in dict.fromkeys(targets):
            if target >= 0:
                subtrees[target] = self.grown(same[target])
            elif target == _NONE:
                subtrees[target] = self._choice(node, children, left[n_same:])
            else:
                subtrees[target] = self._of_missing(node, children)
        return BinChoice.of(self.refined, name, targets, subtrees)

    def _targets(self, node: Element, same: Sequence[Element], name: str) -> list[int]:
        """Return for each bin of a field the index of the child that it goes to, or `_NONE` or `_MISSING`."""
        ids = [child.given.get("id") for child in same]
        names = [child.given["id"] for child in node.all("Node") if "id" in child.given]
        if len(set(names)) < len(names):
            node.refuse("the children of a Node must have distinct ids")
        is_here = self.missing == "defaultChild" and node.given.get("defaultChild") in ids
        default = ids.index(node.given["defaultChild"]) if is_here else _MISSING
        targets = [_NONE] * self.refined.schema[name].n_bins
        for place, child in enumerate(same):
            yes, unknown = self.reader.answers(self.refined, predicate_of(child))
            if is_surrogate(predicate_of(child)) and unknown.any():
                problem = f"surrogates of {shown(name)}, which may be missing by the schema, are not supported"
                child.refuse(f"{problem}; declare `missing: error` for it, or fit rpart with maxsurrogate = 0")
            for at in np.flatnonzero((yes | unknown) & (np.array(targets) == _NONE)).tolist():
                if yes[at] or self.missing != "none":
                    targets[at] = place if yes[at] else default
        return targets

    def _of_missing(self, node: Element, children: Sequence[Element]) -> BinChoice | Leaf:
        if self.missing == "lastPrediction":
            return self._leaf(node)
        default = node.given.get("defaultChild")
        chosen = [child for child in children if default is not None and child.given.get("id") == default]
        return self.grown(chosen[0]) if self.missing == "defaultChild" and chosen else self._nothing(node)

    def _nothing(self, node: Element) -> NoReturn:
        problem = "rows with a missing value, or that satisfy no child of this Node, have no prediction"
        advice = "pass a schema that declares `missing: error` and `outside: error` for its fields"
        node.refuse(f"{problem}; {advice}")

    def _leaf(self, node: Element) -> Leaf:
        if "score" not in node.given:
            node.refuse("this Node must have a score")
        score = self.reader.score(node.given["score"], node)
        return self.refined.leaf(score, self.counts.get(node), node.line)
