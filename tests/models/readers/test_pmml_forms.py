"""PMML is read by a list of what may be in it: whatever is not listed is refused by its name and place."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hedgerow as hr
from hedgerow.errors import ModelFormatError
from hedgerow.models import Leaf, Split, Tree
from hedgerow.models.model import Model
from hedgerow.models.readers.pmml import model_of_pmml
from hedgerow.models.readers.pmml_forms import FORMS
from hedgerow.privacy import PrivacyCard
from hedgerow.schema import Categorical, Integer, Label, Literal, Schema

GOLDEN = Path(__file__).parents[1] / "pmml"
SPACE = "{http://www.dmg.org/PMML-4_4}"
RULES = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="ill" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
</DataDictionary><RuleSetModel functionName="classification"><MiningSchema><MiningField name="age"/>
<MiningField name="ill" usageType="target"/></MiningSchema><ModelStats><UnivariateStats field="age">
<Counts totalFreq="9"/><NumericInfo minimum="1" maximum="99"><Quantile quantileLimit="50" quantileValue="40"/>
</NumericInfo></UnivariateStats></ModelStats><RuleSet defaultScore="no"><RuleSelectionMethod criterion="firstHit"/>
<SimpleRule score="yes"><SimplePredicate field="age" operator="greaterThan" value="40"/></SimpleRule></RuleSet>
</RuleSetModel></PMML>"""
TEXTS = {path.name: path.read_text() for path in sorted(GOLDEN.glob("*.pmml"))} | {"rules": RULES}


def read(text: str) -> Model:
    return model_of_pmml(text, None)


def mutants(text: str, change: Callable[[ElementTree.Element], object]) -> Iterator[tuple[str, str]]:
    """Yield the name of each element outside of open ones, and the document in which it is changed."""
    size = len(list(ElementTree.fromstring(text).iter()))
    for place in range(size):
        root = ElementTree.fromstring(text)
        inside = {below for item in root.iter() if FORMS[name_of(item)].is_open for below in item.iter()}
        element = list(root.iter())[place]
        if element not in inside and change(element) is not False:
            yield name_of(element), ElementTree.tostring(root, encoding="unicode")


def name_of(element: ElementTree.Element) -> str:
    name = element.tag.removeprefix(SPACE)
    return name if name in FORMS else "row"  # the cells of a row have names of their own


@pytest.mark.parametrize("name", TEXTS)
def test_valid_documents_are_read(name):
    read(TEXTS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_an_unknown_attribute_is_refused_by_name_at_every_place(name):
    result = list(mutants(TEXTS[name], lambda element: element.set("novel", "1")))
    assert len(result) > 10
    for tag, text in result:
        with pytest.raises(
            ModelFormatError, match=f"line [0-9]+: the attribute 'novel' of [^ ]*{tag} is not supported"
        ):
            read(text)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("child", [f"{SPACE}Novel", "{urn:other}True", f"{SPACE}Extension", f"{SPACE}Taxonomy"])
def test_an_unknown_element_is_refused_by_name_at_every_place(name, child):
    def change(element: ElementTree.Element) -> bool:
        ElementTree.SubElement(element, child)
        return child.rpartition("}")[2] not in FORMS[name_of(element)].children or "other" in child

    for tag, text in mutants(TEXTS[name], change):
        named = (
            "expected PMML with one model" if tag == "PMML" else f"'{child.rpartition('}')[2]}' in [^ ]*{tag} is not"
        )
        with pytest.raises(ModelFormatError, match=named):
            read(text)


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_refused_at_every_place_that_has_none(name):
    def change(element: ElementTree.Element) -> bool:
        element.text = "97 yes"
        return not FORMS[name_of(element)].has_text

    for tag, text in mutants(TEXTS[name], change):
        with pytest.raises(ModelFormatError, match=f"the text inside [^ ]*{tag} is not supported"):
            read(text)


@pytest.mark.parametrize("name", TEXTS)
def test_unknown_values_of_listed_attributes_are_refused(name):
    """Of every attribute that has a list of values, or the form of a number."""
    changed = 0
    for attribute in {key for form in FORMS.values() for key in form.attributes}:

        def change(element: ElementTree.Element, attribute: str = attribute) -> bool:
            allowed = FORMS[name_of(element)].attributes.get(attribute)
            element.set(attribute, "novel")
            return allowed is not None and (isinstance(allowed, tuple) or allowed.fullmatch("novel") is None)

        for _, text in mutants(TEXTS[name], change):
            changed += 1
            with pytest.raises(ModelFormatError, match=attribute):
                read(text)
    assert changed > 10


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<Value value="a"/>', '<Value value="z" property="invalid"/>', 'property="invalid" of .*DataField/Value'),
        ('name="age" usageType="active"', 'name="age" outliers="asExtremeValues"', 'outliers="asExtremeValues"'),
        ('name="age" usageType="active"', 'name="age" lowValue="3"', "'lowValue' of .*MiningField"),
        ('name="age" usageType="active"', 'name="age" optype="categorical"', "optype of 'age' differs"),
        ('name="age" usageType="active"', 'name="age" usageType="frequencyWeight"', "usageType="),
        ('name="age" usageType="active"', 'name="age" usageType="supplementary"', "usageType must be active"),
        ('name="age" usageType="active"', 'name="ward"', "only one MiningField 'ward'"),
        ('name="age" optype', 'name="ward" optype', "only one DataField 'ward'"),
        ('name="age" optype="continuous"', 'name="age" isCyclic="1" optype="continuous"', "isCyclic"),
        ('invalidValueTreatment="returnInvalid"', 'invalidValueTreatment="asValue"', "invalidValueTreatment="),
        ("<Output>", '<Targets><Target field="ill" rescaleFactor="2"/></Targets><Output>', "'Targets' in"),
        ('feature="predictedValue"', 'feature="transformedValue"', "feature="),
        ('recordCount="7">', 'recordCount="7"><Partition name="x"/>', "'Partition' in"),
        ("<True/>", '<True/><Extension name="x"/>', "'Extension' in"),
        ('version="4.4"', 'version="5.0"', "version"),
        ("PMML-4_4", "PMML-9_9", "the namespace must be"),
        ('n="3"', 'n="4"', "states 4 values, but it has 3"),
        ("&quot;a&quot; &quot;c&quot;", "&quot;a &quot;c&quot;", "quotation mark"),
        ("<!--", "<?robots no?><!--", "processing instructions"),
        ('<?xml version="1.0"?>', '<?xml version="1.0" note="97,yes"?>', "not well-formed XML"),
        ('value="no" recordCount="3"', 'value="yes" recordCount="3"', "one ScoreDistribution for each class"),
        ('score="yes" recordCount="7"', 'score="perhaps" recordCount="7"', "one of the Values of the target"),
        ('id="5" score', 'id="4" score', "distinct ids"),
    ],
)
def test_constructs_that_are_not_honoured_are_refused_by_name(old, new, message):
    text = TEXTS["rpart.pmml"]
    assert old in text
    with pytest.raises(ModelFormatError, match=message):
        read(text.replace(old, new))


def test_our_own_exports_are_of_the_listed_form():
    schema = Schema({"age": Integer(0, 99, cuts=(30,)), "ward": Categorical(("a", "b"))}, Label("ill", ("no", "yes")))
    root = Split(
        Literal("age", "<=", (30,)), Leaf((3, 1)), Split(Literal("ward", "=", ("a",)), Leaf((1, 5)), Leaf((2, 0)))
    )
    model = Tree(schema, root, PrivacyCard.none("example", software="hedgerow"))
    result = model_of_pmml(model.to_pmml(), schema)
    assert [leaf.counts for leaf in result.leaves] == [(3, 1), (1, 5), (2, 0)]
    assert result.schema.attributes == schema.attributes


def test_the_place_of_a_refusal_does_not_depend_on_the_hash_seed(tmp_path):
    """It depended on the order of a set: several fields were at fault, and any of them was named."""
    names = "abcdefgh"
    tests = "\n".join(f'<SimplePredicate field="{x}" operator="lessThan" value="x"/>' for x in names)
    nodes = tests.replace("/>", '/></Node><Node score="p">').removesuffix('<Node score="p">')
    code = "import sys, hedgerow as hr\nfor path in sys.argv[1:]:\n"
    code += "  try: hr.read_model(path)\n  except ValueError as error: print(error)"
    paths = [tmp_path / "fields.pmml", tmp_path / "constants.pmml"]
    for path, kind in zip(paths, ("boolean", "double"), strict=True):
        fields = "\n".join(f'<DataField name="{x}" optype="continuous" dataType="{kind}"/>' for x in names)
        path.write_text(
            f'<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>{fields}'
            f'</DataDictionary><TreeModel functionName="classification"><MiningSchema/><Node score="p"><True/>'
            f'<Node score="p">{nodes}</Node></Node></TreeModel></PMML>'
        )
    said = set()
    for seed in ("0", "1", "2"):
        arguments = [sys.executable, "-c", code, *map(str, paths)]
        done = subprocess.run(
            arguments, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        said.add(done.stdout)
    assert len(said) == 1
    assert said.pop().count("line ") == 2


def test_a_refusal_names_line_and_path(tmp_path):
    path = tmp_path / "model.pmml"
    path.write_text(TEXTS["rpart.pmml"].replace('<Node id="3"', '<Node novel="1" id="3"'))
    with pytest.raises(ModelFormatError, match=r"line 39: .*'novel' of PMML/TreeModel/Node/Node"):
        hr.read_model(path)
