"""Descriptions of tables in each of the formats that are imported."""

REQUIRED = {"required": True}
FRICTIONLESS_FIELDS = [
    {"name": "id", "type": "integer", "constraints": {"unique": True}},
    {"name": "age", "type": "integer", "title": "Age", "description": "at admission", "unit": "years",
     "constraints": {**REQUIRED, "minimum": 0, "maximum": "120"}},
    {"name": "dose", "type": "number", "constraints": {"minimum": 0.5, "maximum": 2}},
    {"name": "sex", "type": "string", "constraints": {**REQUIRED, "enum": ["F", "M", "NA"]}},
    {"name": "ward", "type": "string", "categories": [{"value": "a", "label": "A"}, {"value": "b"}]},
    {"name": "born", "type": "date", "constraints": {"minimum": "1900-01-01", "maximum": "2024-12-31"}},
    {
        "name": "seen",
        "type": "date",
        "format": "%d/%m/%Y",
        "constraints": {"minimum": "01/01/2020", "maximum": "31/12/2024"},
    },
    {"name": "smoker", "type": "boolean", "trueValues": ["yes", "Y"], "falseValues": ["no"], "missingValues": ["-9"]},
    {"name": "alive", "type": "boolean", "constraints": REQUIRED},
    {"name": "hue", "type": "string", "constraints": {**REQUIRED, "pattern": "^(red|blue)$"}},
]  # fmt: skip
FRICTIONLESS = {"fields": FRICTIONLESS_FIELDS, "missingValues": ["", "NA"]}
JSON_SCHEMA = {
    "type": "object",
    "required": ["age", "sex", "ok", "code", "size"],
    "properties": {
        "age": {"type": "integer", "exclusiveMinimum": 0, "maximum": 120, "title": "Age"},
        "dose": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "sex": {"enum": ["F", "M"]},
        "ok": {"type": "boolean"},
        "code": {"oneOf": [{"const": 1, "title": "one"}, {"const": 2}]},
        "size": {"$ref": "#/$defs/size"},
        "hue": {"anyOf": [{"type": "string", "enum": ["red"]}, {"type": "null"}]},
        "tags": {"type": "array"},
        "at": {"type": "string", "format": "date-time"},
        "born": {"type": ["string", "null"], "format": "date", "formatMinimum": "1900-01-01"},
    },
    "$defs": {"size": {"$ref": "#/$defs/real~1one"}, "real/one": {"type": "number", "minimum": 0.5, "maximum": 9}},
}

CSVW_COLUMNS = [
    {"name": "age", "titles": {"en": ["Age"]}, "required": True, "dc:description": "in years",
     "datatype": {"base": "integer", "minimum": "0", "maximum": "120"}},
    {"name": "n", "required": True, "datatype": {"base": "nonNegativeInteger", "maxExclusive": 10}},
    {"titles": ["dose", "Dosis"], "null": ["NA", "-"], "datatype": {"base": "decimal", "minimum": 0, "maximum": 1.5}},
    {"name": "smoker", "required": True, "datatype": {"base": "boolean", "format": "Y|N"}},
    {"name": "hue", "required": True, "datatype": {"base": "string", "format": "(red|blue)"}},
    {"name": "born", "required": True, "datatype": {"base": "date", "minimum": "1900-01-01", "maximum": "2024-12-31"}},
    {
        "name": "seen",
        "required": True,
        "datatype": {"base": "date", "format": "dd/MM/yyyy", "minimum": "01/01/2020", "maximum": "31/12/2024"},
    },
    {"name": "made", "virtual": True},
]  # fmt: skip
CSVW = {"@context": "http://www.w3.org/ns/csvw", "url": "t.csv", "tableSchema": {"columns": CSVW_COLUMNS}}

REDCAP_HEADER = [
    "Variable / Field Name", "Form Name", "Section Header", "Field Type", "Field Label",
    "Choices, Calculations, OR Slider Labels", "Field Note", "Text Validation Type OR Show Slider Number",
    "Text Validation Min", "Text Validation Max", "Identifier?",
    "Branching Logic (Show field only if...)", "Required Field?",
]  # fmt: skip


def field(name, kind, label="", choices="", **more):
    limits = [more.get(key, "") for key in ("check", "low", "high", "identifier", "branching")]
    return [name, "form", "", kind, label, choices, "", *limits, more.get("required", "y")]


REDCAP_FIELDS = [
    field("record_id", "text"),
    field("age", "text", "<b>Age</b> in\nyears", check="integer", low="0", high="120"),
    field("temp", "text", check="number_1dp", low="30", high="45.5", required=""),
    field("sex", "radio", "Sex", "1, Female | 2, Male | U, Unknown, or else"),
    field("smoker", "yesno", branching="[age] > 17"),
    field("drugs", "checkbox", "Drugs", "a, Aspirin | -1, Other"),
    field("pain", "slider"),
    field("phone", "text", identifier="y"),
    field("visit", "text", check="date_dmy", low="2020-01-01", high="2024-12-31"),
    field("seen", "text", check="datetime_dmy", low="2020-01-01 00:00", high="2024-12-31 23:59"),
    field("story", "notes"),
    field("hint", "descriptive"),
    field("bmi", "calc", choices="[w]/[h]"),
]
CODEBOOK = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5"><stdyDscr><labl>not a variable</labl></stdyDscr><dataDscr>
<var ID="V1" name="age" intrvl="contin" measUnit="years"><labl>Age at
  interview</labl><valrng><range UNITS="INT" min="17" max="90"/></valrng>
  <invalrng><item VALUE="-9"/></invalrng><sumStat type="min">18</sumStat><sumStat type="max">SECRET</sumStat></var>
<var ID="V2" name="sex" intrvl="discrete"><labl>Sex</labl>
  <catgry><catValu>1</catValu><labl>Female</labl><catStat type="freq">12</catStat></catgry>
  <catgry><catValu>2</catValu><labl>Male</labl><catStat type="freq">SECRET</catStat></catgry>
  <catgry missing="Y"><catValu>9</catValu><labl>refused</labl></catgry><varFormat type="numeric"/></var>
<var ID="V3" name="town"><varFormat type="character"/></var>
<var ID="V4" name="weight" intrvl="contin"/>
<var ID="V5" name="odd"/>
</dataDscr></codeBook>"""
