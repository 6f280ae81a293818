"""SQL of rule lists and trees as hedgerow writes it, read back: what is read must be written as the same text."""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import permutations
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from hedgerow.errors import HedgerowError, ModelFormatError, SchemaError
from hedgerow.models import sql
from hedgerow.models.dialects import DIALECTS, Dialect
from hedgerow.models.extra_contents import text_content
from hedgerow.models.leaf import Leaf, Split, TreeNode
from hedgerow.models.model import ColumnTypes, Model
from hedgerow.models.readers.questions import MOST_PARTS, no_guarantee
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.tree import Tree
from hedgerow.schema import Attribute, Schema
from hedgerow.schema.literals import Literal, is_number
from hedgerow.text.values import spelled_number, value_text

_HEAD = re.compile(r"/\* ([A-Za-z]+)(, columns of the declared types)?; [^\n]{0,2000}? \*/ ")
_LARGEST = 2**20  # characters
_MOST_CONSTANTS = 100  # of a condition
_OTHER = (
    "expected SQL of a rule list or a tree as hedgerow writes it (Model.to_sql), and the schema of that model; got "
    "other SQL, another schema, or a scorecard, whose SQL does not hold what a point means: read its JSON file."
)


def model_of_sql(text: str, schema: Schema | None) -> Model:
    head = _HEAD.match(text.lstrip())
    dialects: Mapping[str, Any] = {one.title: one for one in DIALECTS.values()}
    if head is None or head[1] not in dialects:
        raise ModelFormatError(_OTHER)
    if schema is None:
        raise ModelFormatError("expected the schema of the model beside its SQL, got none; pass schema= (--schema).")
    body = text.strip()[head.end() :].rstrip("; \n")
    if len(body) > _LARGEST or body.count("CASE") + body.count("WHEN") > MOST_PARTS:
        raise ModelFormatError(f"expected SQL of at most {_LARGEST:,} characters and {MOST_PARTS:,} cases, got more.")
    types: ColumnTypes = "declared" if head[2] else "any"
    dialect = replace(dialects[head[1]], types=types)
    reader = _CaseReader(schema, dialect)
    found = None
    with suppress(RecursionError, SqlglotError, HedgerowError, KeyError, AttributeError, ValueError):
        found = reader.read(body)
    if found is None or found.to_sql(dialect.name, types=types).partition("*/ ")[2] != body:
        raise ModelFormatError(_OTHER)
    comment = text_content(head[0].strip().removeprefix("/*").removesuffix("*/").partition(";")[2], "comment", 1)
    return found if comment is None else found.with_contents((comment,))


class _CaseReader:
    """A reader of SQL in a dialect, with the attributes that it has cut where the model compares."""

    def __init__(self, schema: Schema, dialect: Dialect) -> None:
        self.schema, self.dialect = schema, dialect
        self.attributes: dict[str, Attribute] = dict(schema.attributes)
        self.known: dict[str, Literal | None] = {}
        self.number = schema.target.as_number
        classes = () if self.number else schema.classes
        self.classes = {self._canonical(sql.constant(value, dialect)): value for value in classes}

    def read(self, body: str) -> Model:
        """Return the model, which is not yet known to be written as the same text."""
        case: Any = self._parsed(body)
        card = no_guarantee("SQL", is_ours=True)
        if not body.startswith("CASE\n"):  # as one CASE for all leaves or rules is written
            root = self._node(case)
            return Tree(self._refined(), root, card)
        rules = [Rule.of(self._literals(one.this), self._leaf(one.args["true"])) for one in case.args["ifs"]]
        rules.append(Rule.of((), self._leaf(case.args["default"])))
        return RuleList(self._refined(), tuple(rules), card)

    def _refined(self) -> Schema:
        return replace(self.schema, attributes=tuple(self.attributes.items()))

    def _parsed(self, text: str) -> exp.Expr:
        logger = logging.getLogger("sqlglot")
        level = logger.level
        logger.setLevel(logging.CRITICAL)  # it would quote the text
        try:
            return parse_one(text, read=self.dialect.name)
        finally:
            logger.setLevel(level)

    def _canonical(self, text: str) -> str:
        return self.dialect.written(self._parsed(text))

    def _node(self, tree: Any) -> TreeNode:
        tree = tree.unnest()
        if not isinstance(tree, exp.Case):
            return self._leaf(tree)
        (one,) = tree.args["ifs"]
        return Split(self._literals(one.this)[0], self._node(one.args["true"]), self._node(tree.args["default"]))

    def _leaf(self, tree: Any) -> Leaf:
        if self.number is not None:
            return Leaf(mean=float(tree.find(exp.Literal).this))
        return Leaf(label=self.classes[self.dialect.written(tree)])

    def _literals(self, tree: Any) -> tuple[Literal, ...]:
        whole = self._literal(tree)
        if whole is not None:
            return (whole,)
        found = tuple(self._literal(part.unnest()) for part in tree.flatten()) if isinstance(tree, exp.And) else ()
        if not found or None in found:
            raise ModelFormatError(_OTHER)
        return tuple(one for one in found if one is not None)

    def _literal(self, tree: Any) -> Literal | None:
        text = self.dialect.written(tree)
        if text not in self.known:
            self.known[text] = self._searched(tree, text)
        return self.known[text]

    def _searched(self, tree: Any, text: str) -> Literal | None:
        names = {column.name for column in tree.find_all(exp.Column) if column.args["this"].args.get("quoted")}
        if len(names) != 1:
            return None
        (name,) = names
        attribute = self.attributes[name]
        constants = {one.this if one.is_string else one.this.removesuffix("e0") for one in tree.find_all(exp.Literal)}
        for literal in _candidates(name, attribute, constants):
            with suppress(SchemaError):
                refined = attribute.refined_by(literal)
                written = sql.conditions(Schema({name: refined}), self.dialect)((literal, True))
                refined.extent(literal)
                if self._canonical(written) == text:
                    self.attributes[name] = refined
                    return literal
        return None


def _candidates(name: str, attribute: Attribute, constants: set[str]) -> Iterator[Literal]:
    if len(constants) > _MOST_CONSTANTS:
        return
    for operator in ("true", "false", "missing", "known", "outside"):
        if operator in attribute.operators or operator in ("missing", "known", "outside"):
            yield Literal(name, operator)
    spelled = () if attribute.listed else sorted(map(spelled_number, constants), key=str)
    numbers = [one for one in spelled if one is not None and is_number(one)]
    values: list[Any] = [int(one) if attribute.kind == "integer" else float(one) for one in numbers]
    patterns = " ".join(constants)  # whole numbers stand in regular expressions
    texts = ((value, value_text(value)) for value in attribute.listed)
    values += [value for value, text in texts if text in constants or f"{text}([.]0+)?" in patterns]
    values += [text for text in sorted(constants) if not attribute.listed and re.fullmatch(r"\d{4}-\d\d-\d\d", text)]
    for operator in attribute.operators:
        if operator in ("=", "!=", "<=", ">"):
            yield from (Literal(name, operator, (value,)) for value in values)
        elif operator == "between" and len(values) <= 12:
            yield from (Literal(name, operator, pair) for pair in permutations(values, 2))
