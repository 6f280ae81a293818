"""Data about rows in a PMML document in addition to the model."""

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

_PLAIN_NAME = re.compile(r"[A-Za-z][\w .()+-]{0,80}")  # names of programs, versions and models
_VERSION = re.compile(r"[0-9]+([.-][0-9A-Za-z]+){0,5}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]{5,18}(Z|[-+][0-9:]{4,6})?)?")
_NAMES = ("modelName", "algorithmName", "copyright", "modelVersion", "name", "version")
_PREDICTED = ("value", "score", "defaultScore", "reasonCode", "modalValue")
_UNREAD = ("recordCount", "nbCorrect", "probability")


def contents_of(
    document: Document, model: Element, schema: Schema | None, *, counts: Mapping[Element, Mapping[str, int]]
) -> tuple[Content, ...]:
    """Return the contents of a document apart from the model, by kind, in the order of the document.

    `counts` has the leaves whose rows by class are read as counts of the model.
    """
    root = document.root
    contents = [*_rows(root), *_statistics(root), *_declared(root, schema, _target(model))]
    contents += _counts(model, counts)
    contents += [content for content in _texts(root) if content is not None]
    return (*contents, *comments_content(document.comments))


def guarantee_facts(root: Element) -> tuple[Element, ...]:
    """Return the elements in which a document of hedgerow states ε, δ or noise as data, at most one of each."""
    facts = dict[str, Element]()
    for extension in (extension for header in root.all("Header") for extension in header.all("Extension")):
        attributes, is_data = extension.given, not extension.children and not extension.text.strip()
        is_ours = attributes.keys() == {"extender", "name", "value"} and attributes["extender"] == EXTENDER
        if not is_ours or not is_data:
            continue
        name = attributes["name"]
        if (name in ("epsilon", "delta") and is_amount(attributes["value"])) or attributes == NOISE:
            facts.setdefault(name, extension)
    return tuple(facts.values())


def _target(model: Element) -> str | None:
    fields = (element for part in model.all("MiningSchema") for element in part.all("MiningField"))
    targets = (element for element in fields if element.given.get("usageType") in ("target", "predicted"))
    return next((element.given["name"] for element in targets), None)


def _rows(root: Element) -> Iterator[Content]:
    for element in root.walk():
        rows = element.all("row")
        if rows:
            yield Content("rows", element.path, len(rows), element.line)


def _statistics(root: Element) -> Iterator[Content]:
    for stats in (element for element in root.walk() if element.tag == "ModelStats"):
        inside = list(stats.walk())
        extremes = sum(map(_extremes, inside))
        numbers = sum(len(x.text.split()) if x.tag == "Array" else len(set(x.given) - {"field"}) for x in inside)
        if extremes:
            yield Content("extremes", stats.path, extremes, stats.line)
        if numbers > extremes:
            yield Content("statistics", stats.path, numbers - extremes, stats.line)
    fields = [element for element in root.walk() if element.tag == "MiningField" and "importance" in element.given]
    if fields:
        yield Content("statistics", f"{fields[0].path}/@importance", len(fields), fields[0].line)


def _extremes(element: Element) -> int:
    """Return the number of smallest and largest values of rows in an element of statistics, with the ends of bins."""
    if element.tag == "Quantile" and float(element.given.get("quantileLimit", "50")) in (0, 100):
        return len({"quantileValue"} & set(element.given))
    return len({"minimum", "maximum", "leftMargin", "rightMargin"} & set(element.given))


def _declared(root: Element, schema: Schema | None, target: str | None) -> Iterator[Content]:
    """Yield bounds of numbers that are not the schema's, and names and values that the schema does not list."""
    fields = [element for element in root.walk() if element.tag == "DataField"]
    bounds = [field for field in fields if field.all("Interval") and not _are_bounds_known(field, schema, target)]
    if bounds:
        yield Content("bounds", f"{bounds[0].path}/Interval", len(bounds), bounds[0].line)
    if schema is None:
        return
    unknown = {field: _unlisted(field, schema, target) for field in fields}
    places = [field for field, amount in unknown.items() if amount]
    if places:
        yield Content("values", places[0].path, sum(unknown.values()), places[0].line)


def _are_bounds_known(field: Element, schema: Schema | None, target: str | None) -> bool:
    name = field.need("name")
    number = None if schema is None or name not in schema else as_number(schema[name])
    if schema is not None and name == target:
        number = schema.target.as_number
    intervals = [interval.given for interval in field.all("Interval")]
    ends = {float(end) for given in intervals for side, end in given.items() if side.endswith("Margin")}
    return number is not None and ends <= {number.low, number.high}


def _unlisted(field: Element, schema: Schema, target: str | None) -> int:
    """Return the number of names and values of a field that the schema does not list."""
    name, values = field.need("name"), [plain_word(element.need("value")) for element in field.all("Value")]
    if name == target:
        classes = () if schema.target.as_number else schema.target.values
        return len(set(values) - {plain_word(value_text(value)) for value in classes})
    if name not in schema:
        return 1 + len(values)
    attribute = schema[name]
    known = {plain_word(x) for x, _ in attribute.spellings} | set(map(plain_word, attribute.missing_values))
    known |= {"true", "false"} if attribute.kind == "boolean" else set()
    return sum(value not in known for value in values)


def _counts(model: Element, counts: Mapping[Element, Mapping[str, int]]) -> Iterator[Content]:
    """Yield numbers of rows that are neither read as counts of leaves nor are sums of such counts."""
    parts = [x for x in model.walk() if x.tag in ("Node", "ScoreDistribution", "RuleSet", "SimpleRule")]
    counted = [part for part in parts if any(name in part.given for name in _UNREAD)]
    unread = [part for part in counted if not _is_counted(part, counts)]
    if unread:
        yield Content("counts", unread[0].path, len(unread), unread[0].line, _smallest_leaf(model, counts))


def _smallest_leaf(model: Element, counts: Mapping[Element, Mapping[str, int]]) -> int | None:
    """Return the smallest number of rows of the leaves whose rows by class are not read.

    None unless the numbers are known to be rows: whole numbers that add up from the children of each node.
    """
    nodes, sums = [element for element in model.walk() if element.tag == "Node"], 0
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
    is_share = bool(nodes) and sizes[nodes[0]] in (1, 100)  # the numbers may be shares or percentages
    is_known = bool(sums and rows) and not is_share and all(size.denominator == 1 for size in rows)
    return int(min(rows)) if is_known else None


def _is_counted(part: Element, counted: Collection[Element]) -> bool:
    """Return whether a number of rows follows from the counts of all leaves below it."""
    node = part.parent if part.tag == "ScoreDistribution" else part
    if node is None or node.tag != "Node":
        return False
    return all(x in counted for x in node.walk() if x.tag == "Node" and not x.all("Node"))


def _texts(root: Element) -> Iterator[Content | None]:
    waiting, stated = [root], guarantee_facts(root)
    while waiting:
        element = waiting.pop()
        form = FORMS[element.tag]
        for name, value in element.given.items():
            if form.attributes.get(name) is TEXT and name not in _PREDICTED:
                is_plain = name in _NAMES and bool(_PLAIN_NAME.fullmatch(value) or _VERSION.fullmatch(value))
                is_plain |= " " in name and all(map(ADDRESS.fullmatch, value.split()))
                place = f"{element.path}/@{name.rpartition(' ')[2]}"
                yield None if is_plain else text_content(value, place, element.line)
        if element.tag == "Extension" and element not in stated:
            yield text_content(_inside(element), element.path, element.line)
        elif element.tag in ("Annotation", "Timestamp") and not _TIME.fullmatch(element.text.strip()):
            yield text_content(element.text, element.path, element.line)
        waiting += [] if form.is_open else reversed(element.children)


def _inside(extension: Element) -> str:
    """Return a line for each element of an extension, except rows: its attributes and text, and the text of its leaves.

    If there is no text, the names of the elements are returned.
    """
    lines, names, waiting = list[str](), list[str](), [extension]
    while waiting:
        element = waiting.pop()
        leaves = [x for x in element.children if x.tag != "row" and not (x.children or x.given)]
        inner = [x for x in element.children if x.tag != "row" and (x.children or x.given)]
        values = list(element.given.values())
        cells = [": ".join(values)] if element is extension else values
        cells += [element.text.strip(), *(x.text.strip() for x in leaves)]
        lines.append(", ".join(filter(None, cells)))
        names += [x.tag for x in (*leaves, *inner) if x.tag != "InlineTable"]
        waiting += reversed(inner)
    return "\n".join(filter(None, lines)) or " ".join(names)
