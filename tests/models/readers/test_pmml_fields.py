"""Fields of PMML: valid, invalid and missing values, and types, by the rules of PMML 4.4."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import DomainError, ModelFormatError
from hedgerow.models.model import Model
from hedgerow.models.readers.pmml import model_of_pmml
from hedgerow.privacy.facts import Fact
from hedgerow.schema import Boolean, Categorical, Integer, Label, Number, Ordered, Real, Schema

TREE = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>{field}
<DataField name="y" optype="categorical" dataType="string"><Value value="n"/><Value value="p"/></DataField>
</DataDictionary><TreeModel functionName="classification" missingValueStrategy="{strategy}"><MiningSchema>
<MiningField name="y" usageType="target"/><MiningField name="x" {mining}/></MiningSchema>
<Node id="0" score="n" defaultChild="1"><True/><Node id="1" score="n">{one}</Node><Node id="2" score="p">{other}</Node>
</Node></TreeModel></PMML>"""
NUMBER = '<DataField name="x" optype="continuous" dataType="{}">{}</DataField>'
WORD = '<DataField name="x" optype="{}" dataType="{}">{}</DataField>'
INTERVAL = '<Interval closure="closedClosed" leftMargin="0" rightMargin="10"/>'


def simple(operator: str, value: str | None = None) -> str:
    compared = "" if value is None else f' value="{value}"'
    return f'<SimplePredicate field="x" operator="{operator}"{compared}/>'


BELOW, ABOVE = simple("lessOrEqual", "5"), simple("greaterThan", "5")


def tree(field: str, one: str = BELOW, other: str = ABOVE, mining: str = "", strategy: str = "defaultChild") -> str:
    return TREE.format(field=field, one=one, other=other, mining=mining, strategy=strategy)


def predicted(model: Model, *values: object) -> list[object]:
    """Return the prediction of each value, None where the model refuses it."""
    result = list[object]()
    for value in values:
        try:
            result.append(model.predict(pd.DataFrame({"x": pd.Series([value], dtype=object)}))[0])
        except DomainError:
            result.append(None)
    return result


def schema_of(attribute: object) -> Schema:
    return Schema({"x": attribute}, Label("y", ("n", "p")))


# Numbers


@pytest.mark.parametrize("schema", [None, schema_of(Real(-50, 50)), schema_of(Real(-50, 50, outside="clip"))])
def test_numbers_outside_the_interval_of_a_field_have_no_prediction(schema):
    model = model_of_pmml(tree(NUMBER.format("double", INTERVAL)), schema)
    assert predicted(model, 20.0, -1.0, 0.0, 5.0, 5.1, 10.0) == [None, None, "n", "n", "p", "p"]


@pytest.mark.parametrize("schema", [None, schema_of(Real(-50, 50))])
def test_numbers_outside_the_interval_are_missing_if_treated_as_missing(schema):
    text = tree(NUMBER.format("double", INTERVAL), mining='invalidValueTreatment="asMissing"')
    assert predicted(model_of_pmml(text, schema), 20.0, -1.0, 7.0, 5.0) == ["n", "n", "p", "n"]


def test_numbers_outside_the_interval_are_compared_if_treated_as_is():
    text = tree(NUMBER.format("double", INTERVAL), mining='invalidValueTreatment="asIs"')
    assert predicted(model_of_pmml(text, None), 20.0, -1.0) == ["p", "n"]


def test_the_closure_decides_the_ends_of_an_interval():
    open_ends = INTERVAL.replace("closedClosed", "openOpen")
    for kind, inside in (("double", np.nextafter(0, 1)), ("integer", 1), ("float", 1e-30)):
        model = model_of_pmml(tree(NUMBER.format(kind, open_ends)), None)
        assert predicted(model, 0, inside, 9, 10) == [None, "n", "p", None]


def test_a_schema_wider_than_the_interval_is_narrowed_for_the_board_only():
    """The Interval can be the least and the largest value of the rows: it is not on a public sheet."""
    schema = schema_of(Integer(-40, 120, cuts=(-20, 50)))
    result = model_of_pmml(tree(NUMBER.format("double", INTERVAL)), schema).schema
    assert result["x"] == Integer(0, 10, cuts=(5,))
    assert result.no_guarantee == (Fact("narrowed"),)
    same = model_of_pmml(tree(NUMBER.format("double", INTERVAL)), schema_of(Integer(0, 10, cuts=(2,)))).schema
    assert same.no_guarantee == ()


def test_fields_of_type_float_are_compared_in_single_precision():
    text = tree(NUMBER.format("float", ""), simple("lessOrEqual", "0.31"), simple("greaterThan", "0.31"))
    values = [0.31, float(np.float32(0.31)), 0.31000001, 0.3100001, 0.3]
    expected = ["n" if np.float32(value) <= np.float32(0.31) else "p" for value in values]
    for schema in (None, schema_of(Real(0, 1))):
        assert predicted(model_of_pmml(text, schema), *values) == expected
    assert expected == ["n", "n", "n", "p", "n"]
    text = tree(NUMBER.format("float", ""), simple("lessThan", "0.1"), simple("greaterOrEqual", "0.1"))
    assert predicted(model_of_pmml(text, None), 0.1, 0.0999999999, 0.0999999) == ["p", "p", "n"]


def test_whole_numbers_alone_are_of_type_integer():
    model = model_of_pmml(tree(NUMBER.format("integer", "")), None)
    assert predicted(model, 3, 3.5, 3.0, 6) == ["n", None, "n", "p"]
    with pytest.raises(ModelFormatError, match="declare it as integer"):
        model_of_pmml(tree(NUMBER.format("integer", "")), schema_of(Real(0, 10)))


def test_missing_values_that_the_field_excludes_fail_for_any_schema():
    text = tree(NUMBER.format("double", ""), mining='missingValueTreatment="returnInvalid"')
    assert predicted(model_of_pmml(text, schema_of(Real(0, 10, missing="bin"))), None, 7.0) == [None, "p"]
    with pytest.raises(ModelFormatError, match="declare `missing: error`"):
        model_of_pmml(text, schema_of(Real(0, 10, missing="bin", missing_values=(-9,))))


def test_numbers_that_mean_missing_are_missing_in_a_given_schema_too():
    text = tree(NUMBER.format("double", '<Value value="-9" property="missing"/>'))
    assert predicted(model_of_pmml(text, schema_of(Real(-10, 10, missing="bin"))), -9.0, None, 7.0) == ["n", "n", "p"]
    with pytest.raises(ModelFormatError, match="declare `missing: bin`"):
        model_of_pmml(text, schema_of(Real(-10, 10)))


# Categories and truths


@pytest.mark.parametrize("mining", ["", 'invalidValueTreatment="asMissing"', 'invalidValueTreatment="asIs"'])
@pytest.mark.parametrize("schema", [None, schema_of(Categorical(("a", "b", "c"), missing="bin", outside="error"))])
def test_values_that_are_not_listed_are_invalid(mining, schema):
    listed = '<Value value="a"/><Value value="b"/>'
    text = tree(WORD.format("categorical", "string", listed), simple("equal", "a"), simple("notEqual", "a"), mining)
    other = {"": None, 'invalidValueTreatment="asMissing"': "n", 'invalidValueTreatment="asIs"': "p"}[mining]
    assert predicted(model_of_pmml(text, schema), "a", "b", "c", None) == ["n", "p", other, "n"]


def test_as_missing_concerns_no_value_of_a_field_that_lists_none():
    """Every value that was not tested counted as missing."""
    field = WORD.format("categorical", "string", "")
    text = tree(field, simple("equal", "a"), simple("notEqual", "a"), 'invalidValueTreatment="asMissing"')
    assert predicted(model_of_pmml(text, None), "a", "b", None) == ["n", "p", "n"]


def test_boolean_fields_take_booleans():
    for item, other in (("true", "false"), ("1", "0"), ("True", "False")):
        text = tree(WORD.format("categorical", "boolean", ""), simple("equal", other), simple("equal", item))
        model = model_of_pmml(text, None)
        cells = [True, False, "true", "False", 1, 0, "yes", None]
        assert predicted(model, *cells) == ["p", "n", "p", "n", "p", "n", None, "n"]
        assert model.predict(pd.DataFrame({"x": [True, False]})).tolist() == ["p", "n"]
    text = tree(WORD.format("categorical", "boolean", ""), simple("lessThan", "true"), simple("equal", "true"))
    with pytest.raises(ModelFormatError, match="has no order"):
        model_of_pmml(text, None)


@pytest.mark.parametrize(
    "listed", ["", '<Value value="true"/><Value value="false"/>', '<Value value="1"/><Value value="0"/>']
)
@pytest.mark.parametrize("attribute", [None, Boolean(missing="bin")])
def test_as_missing_leaves_the_two_values_of_boolean_fields_alone(listed, attribute):
    mining = 'invalidValueTreatment="asMissing"'
    field = WORD.format("categorical", "boolean", listed)
    text = tree(field, simple("equal", "false"), simple("equal", "true"), mining)
    schema = None if attribute is None else Schema({"x": attribute}, Label("y", ("n", "p")))
    assert predicted(model_of_pmml(text, schema), True, False, None) == ["p", "n", "n"]


def test_other_words_of_a_schema_are_invalid_in_boolean_fields():
    text = tree(WORD.format("categorical", "boolean", ""), simple("equal", "true"), simple("equal", "false"))
    schema = Schema({"x": Categorical(("true", "false", "yes"))}, Label("y", ("n", "p")))
    assert predicted(model_of_pmml(text, schema), "true", "false", "yes") == ["n", "p", None]


def test_ordinal_fields_have_the_order_of_their_values():
    values = "".join(f'<Value value="{x}"/>' for x in ("low", "middle", "high"))
    item, other = simple("lessOrEqual", "middle"), simple("greaterThan", "middle")
    text = tree(WORD.format("ordinal", "string", values), item, other)
    assert predicted(model_of_pmml(text, None), "low", "middle", "high", "odd") == ["n", "n", "p", None]
    with pytest.raises(ModelFormatError, match="'x' have another order"):
        model_of_pmml(text, schema_of(Ordered(("high", "low", "middle"))))
    for optype, held in (("categorical", values), ("ordinal", "")):
        with pytest.raises(ModelFormatError, match=r"has no order|DataField of 'x' must list its Values"):
            model_of_pmml(tree(WORD.format(optype, "string", held), item, other), None)


def test_equal_numbers_are_equal_categories():
    for kind in ("integer", "double"):
        text = tree(WORD.format("categorical", kind, ""), simple("equal", "1.0"), simple("notEqual", "1"))
        assert predicted(model_of_pmml(text, None), 1, "1", 1.0, 2) == ["n", "n", "n", "p"]
    with pytest.raises(ModelFormatError, match="'x' must be a whole number"):
        model_of_pmml(tree(WORD.format("categorical", "integer", ""), simple("equal", "1.5"), ABOVE), None)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (NUMBER.format("double", '<Value value="3"/>'), "a list of valid Values of the continuous field"),
        (NUMBER.format("double", INTERVAL * 2), "several Intervals"),
        (NUMBER.format("double", INTERVAL.replace('"10"', '"0"')), "must contain more than one number"),
        (NUMBER.format("double", '<Interval closure="openOpen"/>'), "must have a leftMargin or a rightMargin"),
        (NUMBER.format("string", ""), 'dataType="string" of the continuous field'),
        (WORD.format("categorical", "float", ""), 'dataType="float" of the categorical field'),
        (WORD.format("categorical", "string", INTERVAL), "an Interval of the categorical field"),
        (WORD.format("categorical", "boolean", '<Value value="true"/>'), "both of the Values true and false"),
        (NUMBER.format("double", INTERVAL.replace('"10"', '"4"')), "the model compares 'x' with"),
    ],
)
def test_fields_without_a_meaning_are_refused(field, message):
    with pytest.raises(ModelFormatError, match=message):
        model_of_pmml(tree(field), None)


# Missing values


@pytest.mark.parametrize("strategy", ["none", "nullPrediction"])
@pytest.mark.parametrize("schema", [None, schema_of(Real(0, 10, missing="bin"))])
def test_a_test_for_missing_values_is_kept_whatever_the_strategy(strategy, schema):
    either = f'<CompoundPredicate booleanOperator="or">{simple("isMissing")}{ABOVE}</CompoundPredicate>'
    text = tree(NUMBER.format("double", ""), "<True/>", "<True/>", strategy=strategy)
    text = text.replace('<Node id="1" score="n"><True/>', f'<Node id="1" score="p">{either}')
    text = text.replace('<Node id="2" score="p">', '<Node id="2" score="n">')
    model = model_of_pmml(text, schema)
    assert predicted(model, None, 0.5, 7.0) == ["p", "n", "p"]
    assert "x is missing" in str(model)


def test_a_test_that_all_allowed_values_pass_is_refused():
    """It would not be in the model, and values without a prediction would be predicted."""
    text = tree(NUMBER.format("double", ""), simple("notEqual", "2.5"), "<True/>")
    with pytest.raises(ModelFormatError, match="the tests of 'x' do not distinguish"):
        model_of_pmml(text, schema_of(Integer(0, 10)))


# Targets


REGRESSION = (
    tree(NUMBER.format("double", ""))
    .replace("classification", "regression")
    .replace('<Value value="n"/><Value value="p"/>', "")
    .replace('name="y" optype="categorical" dataType="string"', 'name="y" optype="continuous" dataType="{}"')
    .replace('score="n"', 'score="{}"')
    .replace('score="p"', 'score="4"')
)


def test_scores_of_an_integer_target_are_whole():
    assert predicted(model_of_pmml(REGRESSION.format("integer", "3", "3"), None), 1.0, 7.0) == [3.0, 4.0]
    with pytest.raises(ModelFormatError, match=r"line 5: .*score"):
        model_of_pmml(REGRESSION.format("integer", "3.5", "3.5"), None)
    classes = tree(NUMBER.format("double", "")).replace('<Value value="n"/><Value value="p"/>', "")
    classes = classes.replace(
        'name="y" optype="categorical" dataType="string"', 'name="y" optype="categorical" dataType="integer"'
    )
    assert predicted(model_of_pmml(classes.replace('"n"', '"0"').replace('"p"', '"1.0"'), None), 1.0, 7.0) == ["0", "1"]
    with pytest.raises(ModelFormatError, match="'y' must be a whole number"):
        model_of_pmml(classes.replace('"n"', '"0"').replace('"p"', '"1.5"'), None)


def test_scores_of_a_float_target_are_in_single_precision():
    model = model_of_pmml(REGRESSION.format("float", "0.1", "0.1"), None)
    assert predicted(model, 1.0) == [float(np.float32(0.1))]


def test_a_schema_of_another_kind_of_label_is_refused():
    with pytest.raises(ModelFormatError, match="the model predicts a number"):
        model_of_pmml(REGRESSION.format("double", "1", "1"), schema_of(Real(0, 10)))
    with pytest.raises(ModelFormatError, match="the model predicts classes"):
        model_of_pmml(tree(NUMBER.format("double", "")), Schema({"x": Real(0, 10)}, Number("y", 0, 5)))


def test_a_boolean_schema_reads_boolean_fields(tmp_path):
    path = tmp_path / "model.pmml"
    path.write_text(tree(WORD.format("categorical", "boolean", ""), simple("equal", "false"), simple("equal", "true")))
    model = hr.read_model(path, schema_of(Boolean()))
    assert model.predict(pd.DataFrame({"x": [True, False]})).tolist() == ["p", "n"]
