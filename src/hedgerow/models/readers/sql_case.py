"""Reader of the SQL that hedgerow writes for rule lists and trees; writing the result must give the same text."""

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
from hedgerow.models.readers.attribute_tests import MOST_PARTS, no_guarantee
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.tree import Tree
from hedgerow.schema import Attribute, Schema
from hedgerow.schema.literals import Literal, is_number
from hedgerow.text.values import spelled_number, value_text

_HEAD = re.compile(r"/\* ([A-Za-z]+)(, columns of the declared types)?; [^\n]{0,2000}? \*/ ")
_LARGEST = 2**20  # characters
_MOST_CONSTANTS = 100  # the maximum number of constants of a condition
_OTHER = (
    "expected SQL that Model.to_sql wrote for a rule list or a tree, with the schema of that model. Other SQL and "
    "other schemas are not supported, nor are scorecards, whose SQL lacks the worth of a point; read their JSON files."
)


def model_of_sql(text: str, schema: Schema | None) -> Model:
    head = _HEAD.match(text.lstrip())
    dialects: Mapping[str, Any] = {dialect.title: dialect for dialect in DIALECTS.values()}
    if head is None or head[1] not in dialects:
        raise ModelFormatError(_OTHER)
    if schema is None:
        raise ModelFormatError("SQL can only be read with the schema of its model; pass schema= (--schema).")
    body = text.strip()[head.end() :].rstrip("; \n")
    if len(body) > _LARGEST or body.count("CASE") + body.count("WHEN") > MOST_PARTS:
        raise ModelFormatError(f"the SQL is too large: it exceeds {_LARGEST:,} characters or {MOST_PARTS:,} cases.")
    types: ColumnTypes = "declared" if head[2] else "any"
    dialect = replace(dialects[head[1]], types=types)
    reader = _CaseReader(schema, dialect)
    model = None
    with suppress(RecursionError, SqlglotError, HedgerowError, KeyError, AttributeError, ValueError):
        model = reader.read(body)
    if model is None or model.to_sql(dialect.name, types=types).partition("*/ ")[2] != body:
        raise ModelFormatError(_OTHER)
    comment = text_content(head[0].strip().removeprefix("/*").removesuffix("*/").partition(";")[2], "comment", 1)
    return model if comment is None else model.with_contents((comment,))


class _CaseReader:
    """A reader of SQL in a dialect; it adds cut points to the attributes at the constants of the model."""

    def __init__(self, schema: Schema, dialect: Dialect) -> None:
        self.schema, self.dialect = schema, dialect
        self.attributes: dict[str, Attribute] = dict(schema.attributes)
        self.known: dict[str, Literal | None] = {}
        self.number = schema.target.as_number
        classes = () if self.number else schema.classes
        self.classes = {self._canonical(sql.constant(value, dialect)): value for value in classes}

    def read(self, body: str) -> Model:
        """Return the model; the caller checks that it is written as the same text."""
        case: Any = self._parsed(body)
        card = no_guarantee("SQL", is_ours=True)
        if not body.startswith("CASE\n"):  # the beginning of a single CASE for all leaves or rules
            root = self._node(case)
            return Tree(self._refined(), root, card)
        rules = [Rule.of(self._literals(branch.this), self._leaf(branch.args["true"])) for branch in case.args["ifs"]]
        rules.append(Rule.of((), self._leaf(case.args["default"])))
        return RuleList(self._refined(), tuple(rules), card)

    def _refined(self) -> Schema:
        return replace(self.schema, attributes=tuple(self.attributes.items()))

    def _parsed(self, text: str) -> exp.Expr:
        logger = logging.getLogger("sqlglot")
        level = logger.level
        logger.setLevel(logging.CRITICAL)  # sqlglot's warnings would quote the text
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
        (branch,) = tree.args["ifs"]
        true, false = self._node(branch.args["true"]), self._node(tree.args["default"])
        return Split(self._literals(branch.this)[0], true, false)

    def _leaf(self, tree: Any) -> Leaf:
        if self.number is not None:
            return Leaf(mean=float(tree.find(exp.Literal).this))
        return Leaf(label=self.classes[self.dialect.written(tree)])

    def _literals(self, tree: Any) -> tuple[Literal, ...]:
        whole = self._literal(tree)
        if whole is not None:
            return (whole,)
        parts = tuple(self._literal(part.unnest()) for part in tree.flatten()) if isinstance(tree, exp.And) else ()
        if not parts or None in parts:
            raise ModelFormatError(_OTHER)
        return tuple(literal for literal in parts if literal is not None)

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
        constants = {x.this if x.is_string else x.this.removesuffix("e0") for x in tree.find_all(exp.Literal)}
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
    numbers = [number for number in spelled if number is not None and is_number(number)]
    values: list[Any] = [int(number) if attribute.kind == "integer" else float(number) for number in numbers]
    patterns = " ".join(constants)  # whole numbers are in regular expressions
    texts = ((value, value_text(value)) for value in attribute.listed)
    values += [value for value, text in texts if text in constants or f"{text}([.]0+)?" in patterns]
    values += [text for text in sorted(constants) if not attribute.listed and re.fullmatch(r"\d{4}-\d\d-\d\d", text)]
    for operator in attribute.operators:
        if operator in ("=", "!=", "<=", ">"):
            yield from (Literal(name, operator, (value,)) for value in values)
        elif operator == "between" and len(values) <= 12:
            yield from (Literal(name, operator, pair) for pair in permutations(values, 2))
