"""Data of rows in a PMML document that its predictions do not show."""

import re
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction

from hedgerow.models.extra_contents import Content, comments_content, is_amount, text_content
from hedgerow.models.pmml import EXTENDER, NOISE
from hedgerow.models.readers.documents import ADDRESS, Document, Element
from hedgerow.models.readers.pmml_forms import FORMS, TEXT
from hedgerow.schema import Schema
from hedgerow.schema.numbers import as_number
from hedgerow.text.values import plain_word, value_text

_PLAIN_NAME = re.compile(r"[A-Za-z][\w .()+-]{0,80}")  # of a program, a version or a model
_VERSION = re.compile(r"[0-9]+([.-][0-9A-Za-z]+){0,5}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]{5,18}(Z|[-+][0-9:]{4,6})?)?")
_NAMES = ("modelName", "algorithmName", "copyright", "modelVersion", "name", "version")
_PREDICTED = ("value", "score", "defaultScore", "reasonCode", "modalValue")
_UNREAD = ("recordCount", "nbCorrect", "probability")


def contents_of(
    document: Document, model: Element, schema: Schema | None, *, counts: Mapping[Element, Mapping[str, int]]
) -> tuple[Content, ...]:
    """Return what a document holds apart from the model, by kind, in the order of the document.

    `counts` has the leaves whose rows by class are read as counts of the model.
    """
    root = document.root
    found = [*_rows(root), *_statistics(root), *_declared(root, schema, _target(model))]
    found += _counts(model, counts)
    found += [one for one in _texts(root) if one is not None]
    return (*found, *comments_content(document.comments))


def guarantee_facts(root: Element) -> tuple[Element, ...]:
    """Return the elements in which a document of ours states ε, δ or noise as data, at most one of each."""
    facts = dict[str, Element]()
    for one in (extension for header in root.all("Header") for extension in header.all("Extension")):
        name, is_data = one.given.get("name", ""), not one.children and not one.text.strip()
        is_ours = one.given.keys() == {"extender", "name", "value"} and one.given["extender"] == EXTENDER
        if not is_ours or not is_data:
            continue
        if (name in ("epsilon", "delta") and is_amount(one.given["value"])) or one.given == NOISE:
            facts.setdefault(name, one)
    return tuple(facts.values())


def _target(model: Element) -> str | None:
    fields = (one for part in model.all("MiningSchema") for one in part.all("MiningField"))
    return next((one.given["name"] for one in fields if one.given.get("usageType") in ("target", "predicted")), None)


def _rows(root: Element) -> Iterator[Content]:
    for one in root.walk():
        rows = one.all("row")
        if rows:
            yield Content("rows", one.path, len(rows), one.line)


def _statistics(root: Element) -> Iterator[Content]:
    for one in (x for x in root.walk() if x.tag == "ModelStats"):
        inside = list(one.walk())
        extremes = sum(map(_extremes, inside))
        numbers = sum(len(x.text.split()) if x.tag == "Array" else len(set(x.given) - {"field"}) for x in inside)
        if extremes:
            yield Content("extremes", one.path, extremes, one.line)
        if numbers > extremes:
            yield Content("statistics", one.path, numbers - extremes, one.line)
    fields = [one for one in root.walk() if one.tag == "MiningField" and "importance" in one.given]
    if fields:
        yield Content("statistics", f"{fields[0].path}/@importance", len(fields), fields[0].line)


def _extremes(one: Element) -> int:
    """Return how many least and largest values of rows an element of statistics has: the ends of bins are some."""
    if one.tag == "Quantile" and float(one.given.get("quantileLimit", "50")) in (0, 100):
        return len({"quantileValue"} & set(one.given))
    return len({"minimum", "maximum", "leftMargin", "rightMargin"} & set(one.given))


def _declared(root: Element, schema: Schema | None, target: str | None) -> Iterator[Content]:
    """Yield bounds of numbers that are not the schema's, and names and values that the schema does not list."""
    fields = [one for one in root.walk() if one.tag == "DataField"]
    bounds = [one for one in fields if one.all("Interval") and not _are_bounds_known(one, schema, target)]
    if bounds:
        yield Content("bounds", f"{bounds[0].path}/Interval", len(bounds), bounds[0].line)
    if schema is None:
        return
    unknown = {one: _unlisted(one, schema, target) for one in fields}
    places = [one for one, amount in unknown.items() if amount]
    if places:
        yield Content("values", places[0].path, sum(unknown.values()), places[0].line)


def _are_bounds_known(field: Element, schema: Schema | None, target: str | None) -> bool:
    name = field.need("name")
    number = None if schema is None or name not in schema else as_number(schema[name])
    if schema is not None and name == target:
        number = schema.target.as_number
    ends = [float(one.given[side]) for one in field.all("Interval") for side in one.given if side.endswith("Margin")]
    return number is not None and set(ends) <= {number.low, number.high}


def _unlisted(field: Element, schema: Schema, target: str | None) -> int:
    """Return how many names and values of a field the schema does not list."""
    name, values = field.need("name"), [plain_word(one.need("value")) for one in field.all("Value")]
    if name == target:
        classes = () if schema.target.as_number else schema.target.values
        return len(set(values) - {plain_word(value_text(one)) for one in classes})
    if name not in schema:
        return 1 + len(values)
    attribute = schema[name]
    known = {plain_word(x) for x, _ in attribute.spellings} | set(map(plain_word, attribute.missing_values))
    known |= {"true", "false"} if attribute.kind == "boolean" else set()
    return sum(value not in known for value in values)


def _counts(model: Element, counts: Mapping[Element, Mapping[str, int]]) -> Iterator[Content]:
    """Yield numbers of rows that are not read as the counts of leaves, nor are sums of counts that are read."""
    parts = [x for x in model.walk() if x.tag in ("Node", "ScoreDistribution", "RuleSet", "SimpleRule")]
    given = [one for one in parts if any(name in one.given for name in _UNREAD)]
    held = [one for one in given if not _is_counted(one, counts)]
    if held:
        yield Content("counts", held[0].path, len(held), held[0].line, _smallest_leaf(model, counts))


def _smallest_leaf(model: Element, counts: Mapping[Element, Mapping[str, int]]) -> int | None:
    """Return the smallest number of rows of the leaves whose rows by class are not read.

    None unless the numbers are known to be rows: whole numbers of which every node has the sum of its children.
    """
    nodes, sums = [one for one in model.walk() if one.tag == "Node"], 0
    sizes: dict[Element, Fraction | None] = {}
    for node in reversed(nodes):  # children come after their parents
        below = [sizes[child] for child in node.all("Node")]
        known = [size for size in below if size is not None]
        total = sum(known) if below and len(known) == len(below) else None
        own = Fraction(node.given["recordCount"]) if "recordCount" in node.given else total
        own = Fraction(sum(counts[node].values())) if node in counts else own
        if own is not None and total is not None and "recordCount" in node.given:
            if own != total:
                return None
            sums += 1
        sizes[node] = None if own is None else Fraction(own)
    leaves = [sizes[node] for node in nodes if not node.all("Node") and node not in counts]
    rows = [size for size in leaves if size is not None]
    is_share = bool(nodes) and sizes[nodes[0]] in (1, 100)  # perhaps
    is_known = bool(sums and rows) and not is_share and all(size.denominator == 1 for size in rows)
    return int(min(rows)) if is_known else None


def _is_counted(one: Element, counted: Collection[Element]) -> bool:
    """Return whether a number of rows follows from the counts that are read: all leaves below have some."""
    node = one.parent if one.tag == "ScoreDistribution" else one
    if node is None or node.tag != "Node":
        return False
    return all(x in counted for x in node.walk() if x.tag == "Node" and not x.all("Node"))


def _texts(root: Element) -> Iterator[Content | None]:
    waiting, stated = [root], guarantee_facts(root)
    while waiting:
        one = waiting.pop()
        form = FORMS[one.tag]
        for name, value in one.given.items():
            if form.attributes.get(name) is TEXT and name not in _PREDICTED:
                is_plain = name in _NAMES and bool(_PLAIN_NAME.fullmatch(value) or _VERSION.fullmatch(value))
                is_plain |= " " in name and all(map(ADDRESS.fullmatch, value.split()))
                yield None if is_plain else text_content(value, f"{one.path}/@{name.rpartition(' ')[2]}", one.line)
        if one.tag == "Extension" and one not in stated:
            yield text_content(_inside(one), one.path, one.line)
        elif one.tag in ("Annotation", "Timestamp") and not _TIME.fullmatch(one.text.strip()):
            yield text_content(one.text, one.path, one.line)
        waiting += [] if form.is_open else reversed(one.children)


def _inside(extension: Element) -> str:
    """Return a line for each element of an extension, except rows: its attributes and text, and the text of its leaves.

    If there is no text, the names of the elements are returned.
    """
    lines, names, waiting = list[str](), list[str](), [extension]
    while waiting:
        one = waiting.pop()
        leaves = [x for x in one.children if x.tag != "row" and not (x.children or x.given)]
        inner = [x for x in one.children if x.tag != "row" and (x.children or x.given)]
        given = [": ".join(one.given.values())] if one is extension else list(one.given.values())
        lines.append(", ".join(cell for cell in (*given, one.text.strip(), *(x.text.strip() for x in leaves)) if cell))
        names += [x.tag for x in (*leaves, *inner) if x.tag != "InlineTable"]
        waiting += reversed(inner)
    return "\n".join(filter(None, lines)) or " ".join(names)
