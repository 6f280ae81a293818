"""Export of models as PMML 4.4: predicates of literals, fields, and the document around the element of a model.

A predicate on a missing value is unknown and selects no child, rule or attribute. This agrees with `Literal`.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, indent, tostring

from hedgerow._version import __version__
from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import MOST_CHARACTERS, Cases
from hedgerow.models.extra_contents import guarantee_line
from hedgerow.models.points import (
    MOST_REASONS,
    AttributeBins,
    AttributePoints,
    Points,
    best_points,
    bin_literal,
    certain_losses,
    ordered_bins,
)
from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Literal, Schema
from hedgerow.schema.attributes import Attribute, CellType
from hedgerow.schema.numbers import as_number
from hedgerow.schema.targets import Target
from hedgerow.text.days import as_plain
from hedgerow.text.messages import shown
from hedgerow.text.values import Value, value_text

_COMPARED = {"<=": ("lessOrEqual",), ">": ("greaterThan",), "between": ("greaterThan", "lessOrEqual")}
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "double", str: "string"}
_CELL_TYPES: Mapping[CellType, str] = {CellType.TRUTH: "boolean", CellType.NUMBER: "double", CellType.DATE: "date"}
# The reason codes for losses within the noise, and for bins without their own points. Evaluators add up the losses with
# the same code, so each code has the number of the characteristic; its name would be read as a reason.
WITHIN_NOISE, TOO_FEW_ROWS = "(within the noise, {})", "(too few rows, {})"
EXTENDER = "hedgerow"  # the extender of the Extension elements with ε and δ
NOISE = {"extender": EXTENDER, "name": "noise", "value": "unstated"}  # of noisy models without a guarantee
_SUM, _TOTAL = "sum of points", "total points"  # the target of a scorecard, and its output, which other outputs use


def pmml_document(model: Element, schema: Schema, used: Sequence[str], card: PrivacyCard) -> str:
    """Return the PMML document of a model element, to which the fields are added; ArgumentError if it is not valid."""
    for name in used:
        if schema[name].derived is not None:
            problem = f"PMML export does not support the derived column {shown(name)}"
            raise ArgumentError(f"{problem}; compute it beforehand, and declare it without `derived`.")
    target = _target_field(schema.target)
    if model.tag == "Scorecard":  # the target of a scorecard is the total; its prediction is an output
        target = _made("DataField", name=_SUM, optype="continuous", dataType="double")
    fields = [*(_field(name, schema[name]) for name in used), target]
    wholes = [_whole_field(name) for name in used if _has_whole_bin(schema[name])]
    mining = [_mining_field(name, schema[name]) for name in used]
    mining.append(_made("MiningField", name=target.attrib["name"], usageType="target"))
    model.insert(0, _made("MiningSchema", *mining))
    root = _made(
        "PMML",
        _header(card),
        _made("DataDictionary", *fields, numberOfFields=str(len(fields))),
        *([_made("TransformationDictionary", *wholes)] if wholes else []),
        model,
        xmlns="http://www.dmg.org/PMML-4_4",
        version="4.4",
    )
    named = Counter(x.attrib["name"] for tag in ("DataField", "DerivedField", "OutputField") for x in root.iter(tag))
    name, times = named.most_common(1)[0]
    if times > 1:
        raise ArgumentError(f"the column name {shown(name)} is also the name of an output of PMML; rename the column.")
    for element in root.iter():
        if any(map(_UNWRITABLE.search, [element.text or "", *element.attrib.values()])):
            raise ArgumentError("XML does not allow control characters in names and values; rename them in the schema.")
    indent(root)
    text = tostring(root, encoding="unicode") + "\n"
    if len(text) > MOST_CHARACTERS:
        raise ArgumentError(f"the model is too large: it has more than {MOST_CHARACTERS:,} characters as PMML.")
    return text


def _header(card: PrivacyCard) -> Element:
    """Return the header, which states the guarantee, or noise without a guarantee, as data and as text."""
    stated = {} if card.no_guarantee else {"epsilon": card.epsilon, "delta": card.delta}
    facts = [
        _made("Extension", extender=EXTENDER, name=name, value=amount_text(amount))
        for name, amount in stated.items()
        if amount is not None
    ]
    facts += [_made("Extension", **NOISE)] if card.no_guarantee and card.has_noise else []
    application = _made("Application", name=EXTENDER, version=__version__)
    return _made("Header", *facts, application, description=guarantee_line(card))


def _made(tag: str, *parts: Element, **attributes: str) -> Element:
    element = Element(tag, attributes)
    element.extend(parts)
    return element


def tree_model(target: Target, root: Element, *, has_shares: bool) -> Element:
    function = "classification" if target.as_number is None else "regression"
    shares = target.values if has_shares else ()
    outputs = [
        _output(_predicted(target), "predictedValue", _class_type(target)),
        *(
            _output(f"probability({value_text(value)})", "probability", "double", value=_text(value))
            for value in shares
        ),
    ]
    # Every row satisfies a child of each node; the last attribute declares that every row has a prediction.
    always_some = {"splitCharacteristic": "multiSplit", "noTrueChildStrategy": "returnLastPrediction"}
    return _made("TreeModel", _made("Output", *outputs), _always(root), functionName=function, **always_some)


def split_node(literal: Literal, attribute: Attribute, true: Element, false: Element) -> Element:
    """Return the node of a split, without its own predicate, from the nodes of its branches."""
    true.insert(0, _predicate(literal, attribute))
    return _made("Node", true, _always(false))


def first_match_node(nodes: Sequence[Element], cases: Cases, schema: Schema) -> Element:
    """Return a node with a child for each case; the first matching child decides."""
    for node, (literals, _) in zip(nodes, cases, strict=True):
        node.insert(0, _conjunction(literals, schema))
    return _made("Node", *nodes)


def _conjunction(literals: Sequence[Literal], schema: Schema) -> Element:
    return _all_of([_predicate(literal, schema[literal.attribute]) for literal in literals])


def _always(node: Element) -> Element:
    """Return a node with a predicate that every row satisfies."""
    node.insert(0, Element("True"))
    return node


def leaf_node(counts: Sequence[int] | None, prediction: Value, shares: Sequence[float], target: Target) -> Element:
    """Return the node of a leaf, without its predicate, with the probability of each class if there are `shares`."""
    written = shares if counts is None else [max(count, 0) for count in counts]
    distribution = [
        _made("ScoreDistribution", value=_text(value), recordCount=_text(count), probability=_text(share))
        for value, count, share in zip(target.values, written, shares, strict=False)
    ]
    return _made("Node", *distribution, score=_text(prediction))


def rule_set_model(cases: Cases, shares: Sequence[float], schema: Schema) -> Element:
    """Return a RuleSetModel in which the first matching rule decides; every row satisfies the last rule.

    `shares` are the probabilities of the predicted classes; empty if only labels were released.
    """
    target, rules = schema.target, list[Element]()
    for number, (literals, value) in enumerate(cases):
        share = {"confidence": _text(shares[number])} if shares else {}
        predicate = _conjunction(literals, schema)
        rules.append(_made("SimpleRule", predicate, id=str(number + 1), score=_text(value), **share))
    outputs = [_output(_predicted(target), "predictedValue", _class_type(target))]
    outputs += [_output("confidence", "confidence", "double")] if shares else []
    selection = _made("RuleSelectionMethod", criterion="firstHit")
    rule_set = _made("RuleSet", selection, *rules, defaultScore=_text(cases[-1][1]))
    return _made("RuleSetModel", _made("Output", *outputs), rule_set, functionName="classification")


def scorecard_model(
    parts: Sequence[AttributePoints],
    bins: AttributeBins,
    base: Points,
    schema: Schema,
    prediction: Element,
    *,
    highest_is_best: bool,
) -> Element:
    """Return a Scorecard with a single total, and `prediction`, the output element that is computed from it.

    The reason codes are the attributes, ranked by the difference between their points and the points of their best bin.
    Evaluators rank all attributes, so a loss within the noise, and a bin with too few rows, have their own codes.
    """
    algorithm, method = ("pointsBelow", "max") if highest_is_best else ("pointsAbove", "min")
    ranks = map(str, range(1, min(len(bins), MOST_REASONS) + 1))
    outputs = [_output(_TOTAL, "predictedValue", "double"), prediction]
    outputs += [_output(f"reason {rank}", "reasonCode", "string", rank=rank) for rank in ranks]
    characteristics = list[Element]()
    for number, (part, runs) in enumerate(zip(parts, bins, strict=True), 1):
        name, baseline = part.attribute, best_points(part, runs, highest_is_best=highest_is_best)
        certain = certain_losses(part, highest_is_best=highest_is_best) | {baseline}
        attributes = list[Element]()
        for run in ordered_bins(runs):
            code = {} if run.points[0] in certain else {"reasonCode": WITHIN_NOISE.format(number)}
            if not part.has_support(run):
                code = {"reasonCode": TOO_FEW_ROWS.format(number)}
            predicate = _predicate(bin_literal(run), schema[name])
            attributes.append(_made("Attribute", predicate, partialScore=_text(run.points[0]), **code))
        best_score = _text(baseline)
        characteristics.append(
            _made("Characteristic", *attributes, name=name, reasonCode=name, baselineScore=best_score)
        )
    inner = _made("Output", *outputs), _made("Characteristics", *characteristics)
    codes = {"useReasonCodes": "true", "reasonCodeAlgorithm": algorithm, "baselineMethod": method}
    return _made("Scorecard", *inner, functionName="regression", initialScore=_text(base[0]), **codes)


def pmml_output(target: Target, expression: Element) -> Element:
    output = _output(_predicted(target), "transformedValue", _class_type(target))
    output.append(expression)
    return output


def pmml_call(function: str, *arguments: Element | Value) -> Element:
    return _made("Apply", *(x if isinstance(x, Element) else _constant(x) for x in arguments), function=function)


def _constant(value: Value) -> Element:
    constant = _made("Constant", dataType=_TYPES[type(value)])
    constant.text = _text(value)
    return constant


def pmml_total() -> Element:
    return _made("FieldRef", field=_TOTAL)


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(as_plain(value))


def _all_of(predicates: Sequence[Element], operator: str = "and") -> Element:
    if len(predicates) < 2:
        return predicates[0] if predicates else Element("True")
    return _made("CompoundPredicate", *predicates, booleanOperator=operator)


def _predicate(literal: Literal, attribute: Attribute) -> Element:
    name, values = literal.attribute, attribute.values_of(literal)
    match literal.operator:
        case "missing" | "known" as state:
            return _test(name, "isMissing" if state == "missing" else "isNotMissing")
        case "outside":
            return _outside(name, attribute)
        case "!=":
            return _none_of(name, values)
        case _ if values:
            return _all_of([_test(name, "equal", value) for value in values], "or")
        case "true" | "false":
            return _test(name, "equal", literal.operator)
        case operator:
            operands = zip(_COMPARED[operator], literal.operands, strict=True)
            return _all_of([*(_test(name, *operand) for operand in operands), *_inside(name, attribute)])


def _test(name: str, operator: str, value: Value | None = None) -> Element:
    compared = {} if value is None else {"value": _text(value)}
    return _made("SimplePredicate", field=name, operator=operator, **compared)


def _none_of(name: str, values: Sequence[Value]) -> Element:
    # No SimpleSetPredicate: evaluators disagree on quotation marks in its values.
    return _all_of([_test(name, "notEqual", value) for value in values])


def _inside(name: str, attribute: Attribute) -> list[Element]:
    """Return the predicates that a compared number must also satisfy if values outside the domain have a bin."""
    number = as_number(attribute)
    if number is None or number.outside != "bin":
        return []
    ends = [_test(name, "greaterOrEqual", number.low), _test(name, "lessOrEqual", number.high)]
    return [*ends, _test(_whole_name(name), "equal", True)] if _has_whole_bin(number) else ends


def _outside(name: str, attribute: Attribute) -> Element:
    number = as_number(attribute)
    if number is None:
        return _none_of(name, [value for value, _ in attribute.spellings])
    ends = [_test(name, "lessThan", number.low), _test(name, "greaterThan", number.high)]
    return _all_of([*ends, _test(_whole_name(name), "equal", False)] if _has_whole_bin(number) else ends, "or")


def _has_whole_bin(attribute: Attribute) -> bool:
    """Return whether numbers with a fraction belong to the bin of values outside the domain."""
    number = as_number(attribute)
    return number is not None and number.outside == "bin" and number.whole and number.cell_type is CellType.NUMBER


def _whole_name(name: str) -> str:
    return f"{name} is whole"


def _whole_field(name: str) -> Element:
    # Missing values count as whole, so that all comparisons with them stay unknown. Some evaluators' floor has 32 bits.
    rest = _made("Apply", _made("FieldRef", field=name), _constant(1.0), function="modulo", mapMissingTo="0.0")
    equal = _made("Apply", rest, _constant(0.0), function="equal", mapMissingTo="true")
    return _made("DerivedField", equal, name=_whole_name(name), optype="categorical", dataType="boolean")


def _field(name: str, attribute: Attribute) -> Element:
    number, valid = as_number(attribute), list[Element]()
    if number is None and attribute.outside != "bin" and attribute.cell_type is not CellType.TRUTH:
        valid = [_made("Value", value=_text(value)) for value, _ in attribute.spellings]
    elif number is not None and number.outside == "error" and number.cell_type is CellType.NUMBER:  # no dates
        low, high = _text(number.low), _text(number.high)
        valid = [_made("Interval", closure="closedClosed", leftMargin=low, rightMargin=high)]
    missing = [_made("Value", value=_text(value), property="missing") for value in attribute.missing_words]
    kind, optype = _CELL_TYPES.get(attribute.cell_type, "string"), "categorical" if number is None else "continuous"
    return _made("DataField", *valid, *missing, name=name, optype=optype, dataType=kind)


def _mining_field(name: str, attribute: Attribute) -> Element:
    invalid = "asIs" if attribute.outside == "bin" else "returnInvalid"
    missing = {"missingValueTreatment": "returnInvalid"} if attribute.missing == "error" else {}
    return _made("MiningField", name=name, invalidValueTreatment=invalid, **missing)


def _target_field(target: Target) -> Element:
    if target.as_number is not None:
        return _made("DataField", name=target.name, optype="continuous", dataType="double")
    values = [_made("Value", value=_text(value)) for value in target.values]
    return _made("DataField", *values, name=target.name, optype="categorical", dataType=_class_type(target))


def _class_type(target: Target) -> str:
    if target.as_number is not None:
        return "double"
    types = {type(value) for value in target.values}
    is_large = types == {int} and max(map(abs, target.values)) >= 2**31  # evaluators have 32-bit integers
    return _TYPES[types.pop()] if len(types) == 1 and not is_large else "string"


def _output(name: str, feature: str, data_type: str, **attributes: str) -> Element:
    kind = "continuous" if data_type == "double" else "categorical"
    return _made("OutputField", name=name, feature=feature, optype=kind, dataType=data_type, **attributes)


def _predicted(target: Target) -> str:
    return f"predicted {target.name}"
