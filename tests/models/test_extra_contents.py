"""What files of models hold apart from the model: rows, statistics, values and text, wherever they are."""

import re
import time
from fractions import Fraction
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.extra_contents import Content, text_content
from hedgerow.models.readers.pmml import model_of_pmml
from hedgerow.models.readers.rules_text import rules_of_text
from hedgerow.models.readers.sql_case import model_of_sql
from hedgerow.privacy import Charge
from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.wording import headline
from hedgerow.schema import Literal, Schema
from tests.models.pmml_files import AGE, FILE, INTERVAL, ROWS, SCHEMA, STATS, VERIFICATION


def contents(text: str, schema: Schema | None = SCHEMA) -> list[tuple[str, str, int]]:
    return [
        (content.kind, content.place.removeprefix("PMML/"), content.amount)
        for content in model_of_pmml(text, schema).contents
    ]


def test_a_file_of_the_model_alone_holds_nothing_else():
    assert contents(FILE) == []


_TASK = ("rows", "MiningBuildTask/Extension", 1)
_IMPORTANCE = ("statistics", "TreeModel/MiningSchema/MiningField/@importance", 1)
FIELD, HEAD, BOUNDED = "DataDictionary/DataField", "<Header/>", f"{AGE}>{INTERVAL}</DataField>"
ZIP = '<DataField name="zip" optype="categorical" dataType="string"><Value value="2A"/></DataField></DataDictionary>'
XSI = 'xmlns:x="http://www.w3.org/2001/XMLSchema-instance"'
PLACES: list[tuple[str, str, list[tuple[str, str, int]]]] = [
    ("</TreeModel>", f"{VERIFICATION}</TreeModel>", [("rows", "TreeModel/ModelVerification/InlineTable", 2)]),
    (
        '<Node score="no"><True/>',
        f'{STATS}<Node score="no"><True/>',
        [("extremes", "TreeModel/ModelStats", 2), ("statistics", "TreeModel/ModelStats", 1)],
    ),
    (f"{AGE}/>", BOUNDED.format(19, 97), [("bounds", f"{FIELD}/Interval", 1)]),
    (f"{AGE}/>", BOUNDED.format(0, 120), []),  # the schema's own
    ("</DataDictionary>", ZIP, [("values", FIELD, 2)]),
    (HEAD, '<Header description="97, yes; 41, no"/>', [("rows", "Header/@description", 2)]),
    (HEAD, '<Header description="For Mrs Smith"/>', [("text", "Header/@description", 13)]),
    (HEAD, "<Header><Annotation>age,ill\n97,yes\n41,no</Annotation></Header>", [("rows", "Header/Annotation", 2)]),
    (HEAD, f"<Header><Extension>{ROWS}</Extension></Header>", [("rows", "Header/Extension/InlineTable", 2)]),
    (HEAD, '<Header/><MiningBuildTask><Extension value="97|yes"/></MiningBuildTask>', [_TASK]),
    (HEAD, '<Header><Application name="R" version="4.5.1"/><Timestamp>2026-01-01</Timestamp></Header>', []),
    (HEAD, '<Header><Application name="97;yes"/></Header>', [("rows", "Header/Application/@name", 1)]),
    (HEAD, "<Header/><!-- 97,yes -->", [("rows", "comment", 1)]),
    (HEAD, '<Header xmlns:x="97,yes"/>', [("rows", "comment", 1)]),
    ('name="age" optype', 'displayName="97,yes" name="age" optype', [("rows", f"{FIELD}/@displayName", 1)]),
    ('functionName="c', 'modelName="97,yes" functionName="c', [("rows", "TreeModel/@modelName", 1)]),
    (HEAD, "<Header><Extension><x><a>97</a><b>yes</b></x></Extension></Header>", [("rows", "Header/Extension", 1)]),
    (HEAD, '<Header><Extension name="mean" value="5.5"/></Header>', [("text", "Header/Extension", 9)]),
    (HEAD, "<Header><Extension><age97/></Extension></Header>", [("text", "Header/Extension", 5)]),
    ('version="4.4"', f'version="4.4" {XSI} x:schemaLocation="97,yes"', [("rows", "@schemaLocation", 1)]),
    ('version="4.4"', f'version="4.4" {XSI} x:schemaLocation="http://www.dmg.org/PMML-4_4"', []),
    ('<Value value="yes"/>', '<Value value="yes"/><Value value="rare"/>', [("values", FIELD, 1)]),
    ('<MiningField name="age"/>', '<MiningField name="age" importance="0.7"/>', [_IMPORTANCE]),
]


@pytest.mark.parametrize(("old", "new", "expected"), PLACES)
def test_data_is_found_in_every_part_of_a_pmml_file(old, new, expected):
    assert old in FILE
    assert contents(FILE.replace(old, new)) == expected


@pytest.mark.parametrize(
    ("inner", "extremes"),
    [
        ('<NumericInfo><Quantile quantileLimit="100" quantileValue="97"/></NumericInfo>', 1),
        ('<NumericInfo><Quantile quantileLimit="50" quantileValue="97"/></NumericInfo>', 0),
        (f"<ContStats>{INTERVAL.format(19, 97)}</ContStats>", 2),
    ],
)
def test_extremes_are_distinguished_from_other_statistics(inner, extremes):
    stats = f'<ModelStats><UnivariateStats field="age">{inner}</UnivariateStats></ModelStats>'
    result = contents(FILE.replace('<Node score="no"><True/>', f'{stats}<Node score="no"><True/>'))
    assert [amount for kind, _, amount in result if kind == "extremes"] == [extremes] * (extremes > 0)


def test_bounds_of_the_target_are_found():
    text = FILE.replace('functionName="classification"', 'functionName="regression"').replace('score="no"', 'score="1"')
    text = re.sub("<ScoreDistribution[^>]*>", "", text.replace('score="yes"', 'score="2"'))
    target = f'<DataField name="ill" optype="continuous" dataType="double">{INTERVAL.format(0.3, 97.1)}</DataField>'
    text = re.sub('<DataField name="ill".*</DataField>', target, text)
    assert contents(text, None) == [("bounds", f"{FIELD}/Interval", 1)]
    schema = Schema(dict(SCHEMA.attributes), hr.Number("ill", 0.3, 97.1))
    assert contents(text, schema) == []


def test_without_a_schema_every_interval_is_reported():
    assert [kind for kind, _, _ in contents(FILE.replace(f"{AGE}/>", BOUNDED.format(0, 9e9)), None)] == ["bounds"]


def test_comments_of_rules_are_found():
    text = "# age, ill\n# 97, yes\n# 41, no\nif age <= 40 then no # by hand\nelse yes"
    assert rules_of_text(text, None).contents == (Content("rows", "comment", 2, 1),)
    (result,) = rules_of_text("if age <= 40 then no # by hand\nelse yes", None).contents
    assert (result.kind, result.line) == ("text", 1)


@pytest.mark.parametrize("part", ["1;", "a;", "(", "1 ", "=1", "1,"])
def test_long_comments_are_read_in_time(part):
    start = time.perf_counter()
    assert model_of_pmml(FILE.replace("<Header/>", f"<Header/><!--{part * 1_000_000}-->"), SCHEMA).contents
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 3 * 10**6)])
def test_a_guarantee_of_ours_is_data_and_no_content_whatever_its_words(delta, monkeypatch):
    """The sentence is recognised by rendering it again, so other words change nothing."""
    charge = Charge("draw", Fraction(1, 3), delta)
    tree = Tree(SCHEMA, Leaf(label="yes"), PrivacyCard((charge,), noise="OpenDP", software="hedgerow"))
    for words in (headline, lambda epsilon, delta, _: f"{amount_text(epsilon)} and {amount_text(delta)} in 7 words"):
        for module in ("hedgerow.privacy.wording", "hedgerow.models.extra_contents"):
            monkeypatch.setattr(f"{module}.headline", words)
        text = tree.to_pmml()
        assert f'description="guarantee: {words(Fraction(1, 3), delta, ())}"' in text
        assert contents(text) == []
        assert [reason["ours"] for reason in model_of_pmml(text, SCHEMA).privacy.no_guarantee] == [True]


@pytest.mark.parametrize(
    "extension",
    [
        '<Extension extender="hedgerow" name="epsilon" value="97110419"/>',  # more digits than are written
        '<Extension extender="hedgerow" name="epsilon" value="1" more="97"/>',
        '<Extension extender="hedgerow" name="epsilon" value="1">97, yes</Extension>',
        '<Extension extender="hedgerow" name="rows" value="97"/>',
        '<Extension extender="another" name="epsilon" value="97"/>',
        2 * '<Extension extender="hedgerow" name="delta" value="97"/>',
    ],
)
def test_an_extension_that_is_not_one_of_two_amounts_is_content(extension):
    result = model_of_pmml(FILE.replace("<Header/>", f"<Header>{extension}</Header>"), SCHEMA)
    assert "PMML/Header/Extension" in {content.place for content in result.contents}


def test_the_pmml_of_a_rule_list_holds_no_text_but_its_guarantee():
    rules = (Rule((Literal("smoker", "true"),), label="yes"), Rule((), label="no"))
    text = RuleList(SCHEMA, rules, PrivacyCard.none("example", software="hedgerow")).to_pmml()
    assert {place for _, place, _ in contents(text)} <= {"Header/@description"}


def test_a_comment_of_sql_is_found_unless_it_states_a_guarantee():
    root = Split(Literal("smoker", "true"), Leaf(label="yes"), Leaf(label="no"))
    sql = Tree(SCHEMA, root, PrivacyCard.none("97, yes; 41, no", software="hedgerow")).to_sql()
    assert [content.kind for content in model_of_sql(sql, SCHEMA).contents] == ["rows"]
    own = re.sub("guarantee: [^*]*", "guarantee: epsilon-differential privacy with epsilon = 0.5 ", sql)
    assert model_of_sql(own, SCHEMA).contents == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("  ", None),
        ("a sentence, with a comma", "text"),
        ("version 2.5 of 2026", "text"),
        ("19\t1.5\tyes", "rows"),
        ("a;97;b", "rows"),
        ("97 1 0 3.5", "rows"),
        ("guarantee: epsilon-differential privacy with epsilon = 1", None),
        ("guarantee: (epsilon, delta)-differential privacy with (0.333334, 1e-06)", None),
        ("guarantee: epsilon-differential privacy with epsilon = 1/2", "text"),
        ("guarantee: epsilon-differential privacy with epsilon = 9711041972", "text"),
        ("guarantee: epsilon-differential privacy with epsilon = 1; 97,yes", "rows"),
        ("guarantee: none (97,yes)", "rows"),
    ],
)
def test_text_with_cells_and_numbers_is_taken_for_rows(text, found):
    content = text_content(text, "here")
    assert (None if content is None else content.kind) == found


def test_the_file_of_the_model_itself_has_none_of_it(tmp_path: Path):
    model = model_of_pmml(FILE.replace("</TreeModel>", f"{VERIFICATION}</TreeModel>"), SCHEMA)
    model.save(tmp_path / "model.json")
    assert hr.load_model(tmp_path / "model.json").contents == ()


def test_contents_quote_no_value():
    text = FILE.replace("</TreeModel>", f"{VERIFICATION}</TreeModel>").replace("<Header/>", "<Header/><!--97,41-->")
    result = model_of_pmml(text, SCHEMA).contents
    assert len(result) == 2
    assert not any(word in repr(result) + " ".join(map(str, result)) for word in ("97", "41", "yes"))
