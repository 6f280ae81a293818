import copy
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import DomainError, ModelFormatError, SchemaError
from hedgerow.models import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Real, Schema
from tests.models.markup import Markup
from tests.models.strategies import Case, cards, cases, first_match, rule_lists

NONE = PrivacyCard.none("example", software="hedgerow")
SCHEMA = Schema(
    {"age": Integer(17, 90, cuts=(30, 45)), "sex": Categorical(("F", "M"), missing="bin"), "smoker": Boolean()},
    Label("ill", ("no", "yes")),
)
YOUNG = Literal("age", "<=", (30,))
MODEL = RuleList(
    SCHEMA,
    (
        Rule((YOUNG, Literal("smoker", "false")), (90, 10)),
        Rule((Literal("sex", "missing"),), (3, 1)),
        Rule((Literal("age", "between", (30, 45)), Literal("sex", "!=", ("M",))), (1, 7)),
        Rule((), (40, 60)),
    ),
    NONE,
)
ROWS = {"age": [20, 20, 50, 40, 40, 80], "sex": ["F", "M", None, "F", "M", "F"], "smoker": [0, 1, 0, 0, 0, 1]}


def with_counts(*counts: tuple[int, ...]) -> RuleList:
    """Return a list with these counts, the last for the default rule."""
    cuts = tuple(range(1, len(counts)))
    schema = Schema({"x": Integer(0, 99, cuts=cuts)}, Label("y", tuple(range(len(counts[0])))))
    rules = [Rule((Literal("x", "<=", (cut,)),), own) for cut, own in zip(cuts, counts[:-1], strict=True)]
    return RuleList(schema, (*rules, Rule((), counts[-1])), NONE)


# --- what a row is told --------------------------------------------------------------------------------------------


@given(case=cases())
def test_the_first_rule_whose_literals_all_hold_catches_the_row(case: Case) -> None:
    expected = [first_match(case.model, row) for row in case.rows]
    for table in (case.pandas(), case.polars(), case.arrow(), case.array()):
        assert case.model.apply(table).tolist() == expected


@given(case=cases())
def test_predictions_and_probabilities_come_from_the_matching_rule(case: Case) -> None:
    table, caught = case.arrow(), [first_match(case.model, row) for row in case.rows]
    assert case.model.predict(table).tolist() == [case.model.predictions[rule] for rule in caught]
    assert case.model.predict_proba(table).tolist() == [case.model.probabilities[rule].tolist() for rule in caught]


@given(case=cases())
def test_only_the_columns_that_the_rules_use_are_needed(case: Case) -> None:
    used = {literal.attribute for rule in case.model.rules for literal in rule.antecedent}
    frame = case.arrow().append_column("of no use", pa.array([object.__name__] * len(case.rows)))
    kept = frame.select([*sorted(used, reverse=True), "of no use"])
    assert case.model.apply(kept).tolist() == case.model.apply(frame).tolist()


def test_rows_of_the_example_have_the_text_by_hand() -> None:
    # 20 F no: rule 0. 20 M smoker: none of 0, 1, 2 -> 3. Sex unknown: 1. 40 F: 2. 40 M: 3. 80: 3.
    assert MODEL.apply(pd.DataFrame(ROWS)).tolist() == [0, 3, 1, 2, 3, 3]
    assert MODEL.predict(pd.DataFrame(ROWS)).tolist() == ["no", "yes", "no", "yes", "yes", "yes"]
    assert MODEL.predict_proba(pd.DataFrame(ROWS)).tolist() == [
        [0.9, 0.1],
        [0.4, 0.6],
        [0.75, 0.25],
        [0.125, 0.875],
        [0.4, 0.6],
        [0.4, 0.6],
    ]


@pytest.mark.parametrize("sex", [pd.CategoricalDtype(["M", "F"]), "string", "object"])
def test_every_text_type_of_pandas_gives_the_same(sex: Any) -> None:
    assert MODEL.apply(pd.DataFrame(ROWS).astype({"sex": sex})).tolist() == [0, 3, 1, 2, 3, 3]


@pytest.mark.parametrize("sex", [pl.Categorical(), pl.Enum(["M", "F"]), pl.String()])
def test_every_text_type_of_polars_gives_the_same(sex: Any) -> None:
    assert MODEL.apply(pl.DataFrame(ROWS).cast({"sex": sex})).tolist() == [0, 3, 1, 2, 3, 3]


def test_a_table_without_rows_gives_no_predictions() -> None:
    empty = pl.DataFrame(ROWS)[:0]
    assert MODEL.predict(empty).shape == (0,)
    assert MODEL.predict_proba(empty).shape == (0, 2)


@pytest.mark.parametrize("classes", [("no", "yes"), (False, True), (0, 1)])
def test_predictions_have_the_type_of_the_classes(classes: tuple) -> None:
    model = RuleList(Schema({"x": Boolean()}, Label("y", classes)), (Rule((), (0, 1)),), NONE)
    assert [type(value) for value in model.predict(pd.DataFrame({"x": [True]})).tolist()] == [type(classes[1])]


def test_an_absent_column_is_named() -> None:
    with pytest.raises(DomainError, match=r"^column 'smoker'") as caught:
        MODEL.predict(pd.DataFrame(ROWS).drop(columns="smoker"))
    assert caught.value.column == "smoker"


def test_an_array_must_be_as_wide_as_the_schema() -> None:
    with pytest.raises(
        DomainError, match=r"^expected 3 columns \(age, sex, smoker\), in this order, got 2; .*position"
    ):
        MODEL.predict(np.zeros((2, 2)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("column", "value"), [("age", 1313), ("age", None), ("age", -1313), ("sex", "s3cret"), ("smoker", 1313)]
)
def test_a_value_the_schema_does_not_allow_is_never_quoted(frame: Any, column: str, value: Any) -> None:
    table = frame({**ROWS, column: [*ROWS[column][:-1], value]})
    with pytest.raises(DomainError, match=rf"^column '{column}': some values are (outside|missing)") as caught:
        MODEL.predict(table)
    assert caught.value.column == column
    error: BaseException | None = caught.value
    while error is not None:
        assert str(value) not in str(error)
        error = error.__cause__ or error.__context__


# --- what the counts say -------------------------------------------------------------------------------------------


def test_negative_counts_are_taken_for_zero() -> None:
    # the second leaf: max(-4, 0) : 6 : 2 = 0 : 6 : 2
    model = with_counts((5, 4, 1), (-4, 6, 2), (1, 1, 2))
    assert model.probabilities.tolist() == [[0.5, 0.4, 0.1], [0.0, 0.75, 0.25], [0.25, 0.25, 0.5]]
    assert model.predictions == (0, 1, 2)


def test_a_leaf_without_counts_takes_the_share_of_the_whole_list() -> None:
    # whole: (6 + 0 + 0) : (0 + 0 + 2) = 6 : 2; the negative counts of the middle leaf do not lower it
    model = with_counts((6, 0), (-3, -9), (0, 2))
    assert model.probabilities.tolist() == [[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]
    assert model.predictions == (0, 0, 1)


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (-1, -5, 0, -2)])
def test_a_list_without_counts_is_uniform_and_predicts_the_first_class(counts: tuple) -> None:
    model = with_counts(counts, counts)
    assert model.probabilities.tolist() == [[0.25] * 4] * 2
    assert model.predictions == (0, 0)


def test_of_equally_probable_classes_the_first_is_predicted() -> None:
    assert with_counts((1, 3, 3), (2, 2, 0)).predictions == (1, 0)


@given(st.integers(2, 4).flatmap(lambda k: st.lists(st.tuples(*[st.integers(-9, 9)] * k), min_size=1, max_size=5)))
def test_probabilities_add_up_and_predictions_are_the_most_probable(counts: list[tuple[int, ...]]) -> None:
    model = with_counts(*counts)
    probabilities = model.probabilities
    assert probabilities.shape == (len(counts), len(counts[0]))
    assert (probabilities >= 0).all()
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    assert model.predictions == tuple(int(np.argmax(row)) for row in probabilities)


# --- what is accepted ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules",
    [(), (Rule((YOUNG,), (1, 1)),), (Rule((), (1, 1)), Rule((YOUNG,), (1, 1))), (Rule((), (1, 1)), Rule((), (1, 1)))],
)
def test_the_default_rule_stands_once_and_last(rules: tuple[Rule, ...]) -> None:
    with pytest.raises(ValueError, match="default rule"):
        RuleList(SCHEMA, rules, NONE)


@pytest.mark.parametrize("counts", [(), (1,), (1, 2, 3)])
def test_every_rule_has_a_count_for_each_class(counts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=rf"^expected 2 counts per rule, got {len(counts)}\.$"):
        RuleList(SCHEMA, (Rule((YOUNG,), (1, 1)), Rule((), counts)), NONE)


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        (Literal("height", "<=", (30,)), "attribute 'height': is used by a rule but not declared in the schema"),
        (
            Literal("age", "<=", (31,)),
            r"attribute 'age': literals must compare with the cut points \[30, 45\]; got age <= 31",
        ),
        (Literal("age", "=", (30,)), "attribute 'age': operators of integer attributes are <=, >, between; got '='"),
        (Literal("sex", "=", ("X",)), "attribute 'sex': literals must compare with one of the values F, M; got"),
        (
            Literal("smoker", "missing"),
            "attribute 'smoker': the literal smoker is missing is true on all bins or on no bin",
        ),
        (
            Literal("sex", "outside"),
            "attribute 'sex': the literal sex is outside its domain is true on all bins or on no bin",
        ),
        (
            Literal("age", "between", (45, 30)),
            "attribute 'age': the literal 45 < age <= 30 is true on all bins or on no bin",
        ),
    ],
)
def test_a_literal_must_fit_the_schema(literal: Literal, message: str) -> None:
    with pytest.raises(SchemaError, match=f"^{message}"):
        RuleList(SCHEMA, (Rule((literal,), (1, 1)), Rule((), (1, 1))), NONE)


def test_a_schema_without_classes_carries_no_rule_list() -> None:
    with pytest.raises(SchemaError, match="The schema declares no label"):
        RuleList(Schema({"x": Boolean()}), (Rule((), (1, 1)),), NONE)


def test_counts_are_python_integers_whatever_they_were() -> None:
    rule = Rule([YOUNG], np.array([3, 4]))  # type: ignore[arg-type]
    assert rule == Rule((YOUNG,), (3, 4))
    assert {type(count) for count in rule.counts} == {int}
    assert RuleList.from_json(RuleList(SCHEMA, [rule, Rule((), (1, 1))], NONE).to_json()).rules[0] == rule  # type: ignore[arg-type]


def test_a_count_is_a_whole_number() -> None:
    with pytest.raises(TypeError, match="integer"):
        Rule((), (0.5, 1))  # type: ignore[arg-type]


def test_a_rule_list_is_a_value() -> None:
    twin = RuleList(SCHEMA, MODEL.rules, NONE)
    assert twin == MODEL
    assert hash(twin) == hash(MODEL)
    assert pickle.loads(pickle.dumps(MODEL)) == copy.deepcopy(MODEL) == MODEL
    assert len(MODEL) == 4


# --- labels that were drawn ----------------------------------------------------------------------------------------

DRAWN = RuleList(SCHEMA, (Rule((YOUNG,), label="no"), Rule((), label="yes")), NONE)
BOTH = RuleList(
    SCHEMA, (Rule((YOUNG,), (10, 30), "no"), Rule((Literal("smoker", "true"),), label="yes"), Rule((), (3, 1))), NONE
)


def test_a_rule_needs_counts_a_label_or_a_mean() -> None:
    with pytest.raises(ValueError, match="counts"):
        Rule((YOUNG,))


@pytest.mark.parametrize("label", ["maybe", True, 0])
def test_a_label_is_a_class_of_the_schema(label: Any) -> None:
    with pytest.raises(ValueError, match=r"label of a rule .*no, yes; got "):
        RuleList(SCHEMA, (Rule((), label=label),), NONE)


def test_a_label_decides_and_without_counts_is_certain() -> None:
    frame = pd.DataFrame(ROWS)
    assert DRAWN.predict(frame).tolist() == ["no", "no", "yes", "yes", "yes", "yes"]
    assert DRAWN.predict_proba(frame).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 1]]


def test_a_label_contradicted_by_counts_is_predicted_with_its_own_share() -> None:
    assert BOTH.predictions == ("no", "yes", "no")
    assert BOTH.probabilities.tolist() == [[0.25, 0.75], [0, 1], [0.75, 0.25]]
    assert BOTH.predict(pd.DataFrame(ROWS)).tolist() == ["no", "no", "no", "no", "no", "yes"]


def test_without_counts_the_text_has_no_comment() -> None:
    assert str(DRAWN) == "if age <= 30 then no\nelse yes"
    assert str(BOTH).splitlines() == [
        "if age <= 30 then no    # 25.0 % of 40",
        "else if smoker then yes",
        "else no                 # 75.0 % of 4",
    ]


def test_records_without_counts_have_none() -> None:
    assert DRAWN.get_rules()[0] == {
        "rule": 1,
        "condition": "age <= 30",
        "prediction": "no",
        "probability": None,
        "counts": None,
    }


def test_html_has_columns_of_counts_only_where_there_are_some() -> None:
    assert DRAWN.to_html().count("<th>") == 2
    assert "probability" not in DRAWN.to_html()
    assert BOTH.to_html().count("<th>") == 5
    assert BOTH.to_html().count("<td></td>") == 4


def test_the_file_holds_a_label_only_where_there_is_one() -> None:
    first, second, last = json.loads(BOTH.to_json())["rules"]
    assert {key: first[key] for key in ("then", "counts", "label")} == {"then": "no", "counts": [10, 30], "label": "no"}
    assert {key: second[key] for key in ("then", "counts", "label")} == {"then": "yes", "counts": None, "label": "yes"}
    assert list(last) == ["if", "then", "counts"]
    assert RuleList.from_json(BOTH.to_json()) == BOTH


def test_the_digest_of_a_model_stays() -> None:
    assert MODEL.to_dict()["digest"] == "3bc0c5a32fb7a17f9ed8d681cbea3fd37c057575da55f192e97b598e78f8d0ee"


def test_a_plot_without_counts_shows_the_classes_and_no_scale() -> None:
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        axes = DRAWN.plot()
        assert [bar.get_width() for bar in axes.patches] == [1, 1]
        assert len({bar.get_facecolor() for bar in axes.patches}) == 2
        assert not axes.xaxis.get_visible()
        assert axes.get_title(loc="right") == "none (example); no counts were released"
        names = [label.get_text().replace("\u00a0", " ") for label in BOTH.plot().get_yticklabels()]
        assert [name.endswith("(no counts were released)") for name in names] == [
            leaf.counts is None for leaf in BOTH.leaves
        ]
        plt.close("all")


# --- drawn probabilities ---------------------------------------------------------------------------------------------

LIKELY = RuleList(SCHEMA, (Rule((YOUNG,), None, "no", (0.81, 0.19)), Rule((), None, "yes", (0.46, 0.54))), NONE)
COUNTED = RuleList(SCHEMA, (Rule((YOUNG,), (10, 30), "no", (0.81, 0.19)), *LIKELY.rules[1:]), NONE)


def test_drawn_probabilities_are_predicted_for_any_counts() -> None:
    frame = pd.DataFrame(ROWS)
    for model in (LIKELY, COUNTED):
        assert model.predict_proba(frame)[[0, 5]].tolist() == [[0.81, 0.19], [0.46, 0.54]]
        assert model.predict(frame).tolist() == ["no", "no", "yes", "yes", "yes", "yes"]


def test_the_text_shows_a_drawn_probability_only_of_a_rule_without_counts() -> None:
    assert str(LIKELY) == "if age <= 30 then no    # 81 %\nelse yes                # 54 %"
    assert str(COUNTED) == "if age <= 30 then no    # 25.0 % of 40\nelse yes                # 54 %"


def test_records_have_a_drawn_probability_also_without_counts() -> None:
    assert [(rule["probability"], rule["counts"]) for rule in LIKELY.get_rules()] == [(0.81, None), (0.54, None)]
    assert COUNTED.get_rules()[0] | {"condition": ""} == {
        "rule": 1,
        "condition": "",
        "prediction": "no",
        "probability": 0.81,
        "counts": {"no": 10, "yes": 30},
    }


def test_html_shows_a_drawn_probability_only_of_a_rule_without_counts() -> None:
    texts = Markup(LIKELY.to_html()).texts
    assert texts[:7] == ["if", "then", "probability", "1", "age <= 30", "no", "81 %"]
    assert texts[7:-1] == ["2", "otherwise", "yes", "54 %"]
    assert "<td>25.0 %</td><td>10</td><td>30</td>" in COUNTED.to_html()
    assert COUNTED.to_html().count("<td></td>") == 3


def test_the_file_holds_drawn_probabilities() -> None:
    assert json.loads(COUNTED.to_json())["rules"][0]["probabilities"] == [0.81, 0.19]
    for model in (LIKELY, COUNTED):
        assert RuleList.from_json(model.to_json()) == model


def test_a_plot_shows_drawn_probabilities_unless_every_rule_has_counts() -> None:
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        for model in (LIKELY, COUNTED):
            axes = model.plot()
            assert [bar.get_width() for bar in axes.patches] == pytest.approx([0.81, 0.46, 0.19, 0.54])
            assert axes.get_xlabel() == "probability"
        assert axes.get_yticklabels()[0].get_text().endswith("no (25.0 % of 40)")
        every = RuleList(SCHEMA, tuple(replace(rule, counts=(10, 30)) for rule in COUNTED.rules), NONE)
        assert [bar.get_width() for bar in every.plot().patches] == [10, 10, 30, 30]
        plt.close("all")


# --- files ---------------------------------------------------------------------------------------------------------


@given(model=rule_lists(privacy=cards()))
def test_json_brings_back_an_equal_model(model: RuleList) -> None:
    again = RuleList.from_json(model.to_json())
    assert again == model
    assert again.schema.names == model.schema.names
    assert again.to_json() == model.to_json()


def test_a_file_brings_back_an_equal_model(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model.json")
    assert RuleList.load(tmp_path / "model.json") == MODEL
    assert RuleList.load(str(tmp_path / "model.json")).to_sql() == MODEL.to_sql()


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"model\.json"):
        RuleList.load(tmp_path / "model.json")


def test_the_file_holds_the_schema_its_digest_and_the_privacy_card() -> None:
    data = json.loads(MODEL.to_json())
    assert list(data) == ["format", "version", "schema", "schema_digest", "rules", "privacy", "digest"]
    assert (data["format"], data["version"]) == ("hedgerow/rule-list", 2)
    assert data["schema"] == SCHEMA.to_dict()
    assert data["schema_digest"] == SCHEMA.digest
    assert data["privacy"] == NONE.to_dict()
    assert data["rules"][0] == {
        "if": [
            {"attribute": "age", "operator": "<=", "operands": [30]},
            {"attribute": "smoker", "operator": "false", "operands": []},
        ],
        "then": "no",
        "counts": [90, 10],
    }


def test_a_file_of_a_rule_list_is_readable_text(tmp_path: Path) -> None:
    schema = Schema({"größe": Boolean()}, Label("y", ("nein", "ja")))
    RuleList(schema, (Rule((), (0, 1)),), NONE).save(tmp_path / "model.json")
    assert "größe" in (tmp_path / "model.json").read_text(encoding="utf-8")


def test_no_other_format_is_read() -> None:
    with pytest.raises(ModelFormatError, match=r"^expected the format 'hedgerow/rule-list', got 'hedgerow/tree'\.$"):
        RuleList.from_json(MODEL.to_json().replace("hedgerow/rule-list", "hedgerow/tree"))


# --- for readers ---------------------------------------------------------------------------------------------------


def test_the_text_is_the_list_as_a_person_reads_it() -> None:
    # 90/100, 3/4, 7/8 and 60/100, each of the most probable class
    assert str(MODEL) == (
        "if age <= 30 and not smoker then no             # 90.0 % of 100\n"
        "else if sex is missing then no                  # 75.0 % of 4\n"
        "else if 30 < age <= 45 and sex != M then yes    # 87.5 % of 8\n"
        "else yes                                        # 60.0 % of 100"
    )


def test_a_single_default_rule_is_printed_as_always() -> None:
    assert str(RuleList(SCHEMA, (Rule((), (1, 3)),), NONE)) == "always yes    # 75.0 % of 4"


def test_the_repr_is_short_and_states_the_guarantee() -> None:
    assert repr(MODEL) == "<RuleList of 4 rules; guarantee: none (example)>"


def test_there_is_one_record_a_rule() -> None:
    records = MODEL.get_rules()
    assert records[2] == {
        "rule": 3,
        "condition": "30 < age <= 45 and sex != M",
        "prediction": "yes",
        "probability": 0.875,
        "counts": {"no": 1, "yes": 7},
    }
    frame = pd.DataFrame(records)
    assert frame["rule"].tolist() == [1, 2, 3, 4]
    assert frame["condition"].iloc[-1] == "otherwise"
    assert frame["probability"].tolist() == [0.9, 0.75, 0.875, 0.6]


def test_html_escapes_names_values_classes_and_the_card() -> None:
    evil = "<script>alert('1')</script>"
    schema = Schema({evil: Categorical((evil, "<b>"))}, Label("y", (evil, "<i>&amp;")))
    rules = (Rule((Literal(evil, "=", (evil,)),), (1, 7)), Rule((), (3, 1)))
    html = RuleList(schema, rules, PrivacyCard.none(evil, software=evil)).to_html()
    markup = Markup(html)
    assert markup.tags == {"table", "thead", "tbody", "tr", "th", "td", "b", "pre"}
    assert "<script" not in html
    for shown in (f'{evil} = "{evil}"', "<i>&amp;", f"none ({evil})", "otherwise", "87.5 %", "75.0 %"):
        assert shown in "".join(markup.texts)


def test_a_plot_shows_the_rules_and_the_guarantee() -> None:
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        axes = MODEL.plot()
        labels = [label.get_text().replace("\u00a0", " ") for label in axes.get_yticklabels()]
        assert labels[0].replace("\n", " ") == "1. age <= 30 and not smoker → no (90.0 % of 100)"
        assert labels[-1].startswith("4. otherwise → yes")
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["no", "yes"]
        assert axes.get_title(loc="right") == "none (example)"
        plt.close(axes.figure)


def test_integer_and_real_bounds_written_with_a_point_stay_as_they_were() -> None:
    schema = Schema({"x": Real(0.0, 10, cuts=(2.5, 5))}, Label("y", (0, 1)))
    model = RuleList(schema, (Rule((Literal("x", "<=", (5.0,)),), (1, 0)), Rule((), (0, 1))), NONE)
    assert RuleList.from_json(model.to_json()) == model
