"""The supported part of PMML: the attributes, their allowed values, and the children of each element.

Everything that is not listed here raises an error that names it, because it could change predictions.
`models/readers/pmml_contents.py` reports the elements with data of rows that do not change predictions.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hedgerow.models.readers.documents import Element
from hedgerow.text.messages import shown
from hedgerow.text.values import LONGEST_TEXT, NUMBER

Allowed = tuple[str, ...] | re.Pattern[str]  # the allowed values of an attribute, or a pattern for them

TEXT = re.compile(".*", re.DOTALL)  # any text; free text is reported as a content of the file
NAME = re.compile(f".{{1,{LONGEST_TEXT}}}", re.DOTALL)
AMOUNT, WHOLE = re.compile(NUMBER), re.compile("[0-9]{1,18}")
_TRUTH = ("true", "false", "1", "0")
_OPTYPES = ("continuous", "categorical", "ordinal")
_TYPES = ("double", "float", "integer", "string", "boolean")
_PREDICATES = "True False SimplePredicate SimpleSetPredicate CompoundPredicate"
MODELS = ("TreeModel", "RuleSetModel", "Scorecard")
_SPACE = re.compile("https?://www[.]dmg[.]org/PMML-[34]_[0-9](_[0-9])?")
_SCHEMA_LOCATION = "http://www.w3.org/2001/XMLSchema-instance schemaLocation"


@dataclass(frozen=True)
class ElementForm:
    """The attributes with their allowed values, and the children of an element."""

    attributes: Mapping[str, Allowed]
    children: tuple[str, ...]
    has_text: bool = False
    is_open: bool = False  # True if its content is arbitrary and only reported


def _form(children: str = "", *, has_text: bool = False, is_open: bool = False, **attributes: Allowed) -> ElementForm:
    return ElementForm(attributes, tuple(children.split()), has_text, is_open)


def _model(children: str, *functions: str, **attributes: Allowed) -> ElementForm:
    common: dict[str, Allowed] = {"modelName": TEXT, "algorithmName": TEXT, "functionName": functions}
    common |= {"isScorable": ("true", "1"), "x-mathContext": ("double",)}
    parts = ("MiningSchema", "Output", "ModelStats", "LocalTransformations", "ModelVerification", children)
    return ElementForm(common | attributes, parts)


FORMS: Mapping[str, ElementForm] = {
    "PMML": ElementForm(
        {"version": re.compile("[34][.][0-9]([.][0-9])?"), _SCHEMA_LOCATION: TEXT},
        ("Header", "MiningBuildTask", "DataDictionary", "TransformationDictionary", *MODELS),
    ),
    "Header": _form("Extension Application Annotation Timestamp", copyright=TEXT, description=TEXT, modelVersion=TEXT),
    "Application": _form(name=TEXT, version=TEXT),
    "Annotation": _form(has_text=True),
    "Timestamp": _form(has_text=True),
    "MiningBuildTask": _form("Extension"),
    "Extension": _form(is_open=True),
    # Fields
    "DataDictionary": _form("DataField", numberOfFields=WHOLE),
    "DataField": _form(
        "Interval Value", name=NAME, displayName=TEXT, optype=_OPTYPES, dataType=_TYPES, isCyclic=("0",)
    ),
    "Interval": _form(
        closure=("openOpen", "openClosed", "closedOpen", "closedClosed"), leftMargin=AMOUNT, rightMargin=AMOUNT
    ),
    "Value": _form(value=TEXT, displayValue=TEXT, property=("valid", "missing")),
    "TransformationDictionary": _form(),
    "LocalTransformations": _form(),
    "MiningSchema": _form("MiningField"),
    "MiningField": _form(
        name=NAME,
        usageType=("active", "target", "predicted", "supplementary"),
        optype=_OPTYPES,
        importance=AMOUNT,
        outliers=("asIs",),
        missingValueTreatment=("asIs", "returnInvalid"),
        invalidValueTreatment=("returnInvalid", "asIs", "asMissing"),
    ),
    "Output": _form("OutputField"),
    "OutputField": _form(
        name=NAME,
        displayName=TEXT,
        optype=_OPTYPES,
        dataType=_TYPES,
        targetField=NAME,
        feature=(
            "predictedValue",
            "probability",
            "confidence",
            "reasonCode",
            "entityId",
        ),  # other features change the result
        value=TEXT,
        rank=WHOLE,
        isFinalResult=_TRUTH,
    ),
    # Trees
    "TreeModel": _model(
        "Node",
        "classification",
        "regression",
        missingValueStrategy=("none", "lastPrediction", "nullPrediction", "defaultChild"),
        missingValuePenalty=AMOUNT,  # affects only the confidence
        noTrueChildStrategy=("returnNullPrediction", "returnLastPrediction"),
        splitCharacteristic=("binarySplit", "multiSplit"),
    ),
    "Node": _form(f"{_PREDICATES} ScoreDistribution Node", id=NAME, score=TEXT, recordCount=AMOUNT, defaultChild=NAME),
    "ScoreDistribution": _form(value=TEXT, recordCount=AMOUNT, confidence=AMOUNT, probability=AMOUNT),
    # Predicates
    "True": _form(),
    "False": _form(),
    "SimplePredicate": _form(
        field=NAME,
        operator=(
            *("equal", "notEqual", "lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual"),
            *("isMissing", "isNotMissing"),
        ),
        value=TEXT,
    ),
    "SimpleSetPredicate": _form("Array", field=NAME, booleanOperator=("isIn", "isNotIn")),
    "Array": _form(has_text=True, n=WHOLE, type=("string", "int", "real")),
    "CompoundPredicate": _form(_PREDICATES, booleanOperator=("and", "or", "xor", "surrogate")),
    # Rule sets
    "RuleSetModel": _model("RuleSet", "classification"),
    "RuleSet": _form(
        "RuleSelectionMethod ScoreDistribution SimpleRule",
        recordCount=AMOUNT,
        nbCorrect=AMOUNT,
        defaultScore=TEXT,
        defaultConfidence=AMOUNT,
    ),
    "RuleSelectionMethod": _form(criterion=("firstHit",)),
    "SimpleRule": _form(
        f"{_PREDICATES} ScoreDistribution",
        id=NAME,
        score=TEXT,
        recordCount=AMOUNT,
        nbCorrect=AMOUNT,
        confidence=AMOUNT,
        weight=AMOUNT,
    ),
    # Scorecards
    "Scorecard": _model(
        "Characteristics",
        "regression",
        initialScore=AMOUNT,
        useReasonCodes=_TRUTH,
        reasonCodeAlgorithm=("pointsAbove", "pointsBelow"),
        baselineScore=AMOUNT,
        baselineMethod=("max", "min", "mean", "neutral", "other"),
    ),
    "Characteristics": _form("Characteristic"),
    "Characteristic": _form("Attribute", name=NAME, reasonCode=TEXT, baselineScore=AMOUNT),
    "Attribute": _form(_PREDICATES, reasonCode=TEXT, partialScore=AMOUNT),
    # Data of rows, which are reported and not used
    "ModelStats": _form("UnivariateStats"),
    "UnivariateStats": _form("Counts NumericInfo DiscrStats ContStats", field=NAME, weighted=_TRUTH),
    "Counts": _form(totalFreq=AMOUNT, missingFreq=AMOUNT, invalidFreq=AMOUNT, cardinality=WHOLE),
    "NumericInfo": _form(
        "Quantile",
        minimum=AMOUNT,
        maximum=AMOUNT,
        mean=AMOUNT,
        standardDeviation=AMOUNT,
        median=AMOUNT,
        interQuartileRange=AMOUNT,
    ),
    "Quantile": _form(quantileLimit=AMOUNT, quantileValue=AMOUNT),
    "DiscrStats": _form("Array", modalValue=TEXT),
    "ContStats": _form("Interval Array", totalValuesSum=AMOUNT, totalSquaresSum=AMOUNT),
    "ModelVerification": _form("VerificationFields InlineTable", recordCount=WHOLE, fieldCount=WHOLE),
    "VerificationFields": _form("VerificationField"),
    "VerificationField": _form(field=NAME, column=NAME, precision=AMOUNT, zeroThreshold=AMOUNT),
    "InlineTable": _form("row"),
    "row": _form(is_open=True),
}
_SEVERAL = (
    *("Extension", "DataField", "Interval", "Value", "MiningField", "OutputField", "Node", "ScoreDistribution"),
    *("True", "False", "SimplePredicate", "SimpleSetPredicate", "CompoundPredicate", "RuleSelectionMethod"),
    *("SimpleRule", "Characteristic", "Attribute", "UnivariateStats", "Quantile", "VerificationField", "row"),
    *("Annotation", "Array"),
)
"""Elements that may occur several times in their parent."""
_ADVICE = "export the model without it"


def listed(root: Element) -> Iterator[Element]:
    """Yield the elements of a document in order; raise an error for everything that the forms do not allow."""
    space, waiting = root.space, [root]
    if space and not _SPACE.fullmatch(space):
        root.refuse("the namespace must belong to PMML 3 or 4, such as http://www.dmg.org/PMML-4_4")
    while waiting:
        element = waiting.pop()
        form = FORMS[element.tag]
        if not form.is_open:
            _check(element, form, space)
            waiting += reversed(element.children)
        yield element


def _check(element: Element, form: ElementForm, space: str) -> None:
    for name, value in element.given.items():
        allowed = form.attributes.get(name)
        if allowed is None:
            element.refuse(f"the attribute {shown(name)} of {element.path} is not supported; {_ADVICE}")
        if isinstance(allowed, tuple):
            element.one_of(name, value, *allowed)
        elif not allowed.fullmatch(value):
            element.refuse(f"the value of the attribute {name} of {element.path} is not valid")
    if element.text.strip() and not form.has_text:
        element.refuse(f"the text inside {element.path} is not supported; {_ADVICE}")
    tags = set[str]()
    for child in element.children:
        if child.tag not in form.children or child.space != space:
            child.refuse(f"{shown(child.tag)} in {element.path} is not supported; {_ADVICE}")
        if child.tag in tags and child.tag not in _SEVERAL:
            child.refuse(f"{element.path} may have only one {child.tag}; this is the second")
        tags.add(child.tag)
