"""From a table to a report.

Commands that lead from tables of different origin to a report that can be signed: the number of commands, of refused
commands, of edited lines of the schema, and seconds. [docs/report.md](../docs/report.md) shows the reports.

{ways}

Each sequence is typed by a person who has the table and its documentation: cardiotocographs with a list of ranges (an
empty schema is filled in), Adult with a Frictionless Table Schema of its publisher, and synthetic hospital visits with
a REDCap data dictionary, in another encoding, with decimal commas and several rows per patient. For three more
synthetic tables only the meaning of the columns is known: hospital stays with dates, codes and several rows per
patient; a survey with scales, items and weights; loans as exported from a spreadsheet. Refused commands are counted,
because their messages lead to the next edit.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import yaml
from measure import report

import hedgerow as hr

CTG = {
    "LB": (50, 240), "AC": (0, 0.1), "FM": (0, 1), "UC": (0, 0.1), "DL": (0, 0.1), "DS": (0, 0.1), "DP": (0, 0.1),
    "ASTV": (0, 100), "MSTV": (0, 20), "ALTV": (0, 100), "MLTV": (0, 100), "Width": (0, 300), "Min": (0, 250),
    "Max": (0, 300), "Nmax": (0, 50), "Nzeros": (0, 20), "Mode": (0, 300), "Mean": (0, 300), "Median": (0, 300),
    "Variance": (0, 500), "Tendency": (-1, 1),
}  # fmt: skip
STAYED = ["I10", "I21.4", "E11.9", "E66.0", "J18.9", "C50.9", "C34.1", "S72.0", "F32.1", "K35.8", "N39.0"]
AGES = ["18-29", "30-44", "45-59", "60-74", "75+"]
LIKERT = ["strongly disagree", "disagree", "neither", "agree", "strongly agree"]
CODES = ["007", "010", "I10", "E11"]
DICTIONARY = """Variable / Field Name,Form Name,Section Header,Field Type,Field Label,\
"Choices, Calculations, OR Slider Labels",Field Note,Text Validation Type OR Show Slider Number,Text Validation Min,\
Text Validation Max
patient_id,visit,,text,Patient,,,,,
visit_date,visit,,text,Date of the visit,,,date_ymd,2025-01-01,2025-12-31
sex,visit,,radio,Sex,"männlich, male | weiblich, female",,,,
age,visit,,text,Age in years,,,integer,18,110
ward,visit,,dropdown,Ward,"Chirurgie, surgery | Innere, medicine | Geriatrie, geriatrics",,,,
bmi,visit,,text,Body mass index,,,number,8,80
smoker,visit,,yesno,Smokes,,,,,
diabetic,visit,,yesno,Has diabetes,,,,,
creatinine,visit,,text,Creatinine,,,number,0,20
sodium,visit,,text,Sodium,,,integer,100,180
haemoglobin,visit,,text,Haemoglobin,,,number,2,25
triage,visit,,radio,Triage,"1, 1 | 2, 2 | 3, 3 | 4, 4 | 5, 5",,,,
icd_code,visit,,radio,Main diagnosis,"007, 007 | 010, 010 | I10, I10 | E11, E11",,,,
arrival,visit,,radio,Arrival,"Notfall, emergency | geplant, planned",,,,
insured,visit,,radio,Insurance,"gesetzlich, public | privat, private",,,,
pain,visit,,text,"Pain, 0 to 10",,,integer,0,10
falls_before,visit,,text,Falls before,,,integer,0,50
medicines,visit,,text,Medicines,,,integer,0,60
lives_alone,visit,,radio,Lives alone,"Y, yes | N, no",,,,
readmitted,visit,,yesno,Readmitted in 30 days,,,,,
"""
FORM = {
    "title": "Readmission", "purpose": "Research", "population": "Adults", "curator": "The clinic", "unit": "a person",
    "cut_points": "from guidelines", "preprocessing": "none", "tuning": "none", "limits": "not for care",
    "relation": "none", "residual_risk": "small", "author": "A. Author",
}  # fmt: skip


class Way:
    """A way of one person through the commands, in a folder of its own."""

    def __init__(self, name, folder):
        self.name, self.folder = name, Path(folder)
        self.commands = self.refused = self.edited = 0
        self.seconds = 0.0

    def run(self, *words, refused=False):
        """Type a command; it must do what the way expects."""
        start = time.perf_counter()
        command = [sys.executable, "-m", "hedgerow", *words]
        ended = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        self.seconds += time.perf_counter() - start
        self.commands += 1
        self.refused += refused
        if (ended.returncode != 0) != refused:
            raise SystemExit(f"{self.name}: {' '.join(words)}\n{ended.stderr}{ended.stdout}")

    def edit(self, change):
        """Change the schema as a person does in an editor; count the lines."""
        path = self.folder / "schema.yaml"
        schema = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.edited += change(schema)
        path.write_text(yaml.safe_dump(schema, sort_keys=False, allow_unicode=True), encoding="utf-8")

    def fill(self, target, *options, **changes):
        """Fill in an empty schema: its attributes by name, None for a column that is left out, and its other keys."""

        def filled(schema):
            for name, attribute in changes.pop("attributes").items():
                if schema["attributes"].pop(name, None) is None or attribute is not None:
                    schema["attributes"][name] = attribute
            schema["label"] = {"name": target} | changes.pop("label")
            schema.update(changes)
            return 1 + len(schema["attributes"]) + sum(key in schema for key in ("unit", "weight"))

        self.run("schema", "new", "table.csv", "--target", target, "-o", "schema.yaml")
        self.edit(filled)
        self.run("schema", "check", "schema.yaml", "table.csv", *options)

    def finish(self, rows, epsilon, *options, counts=True, units=None):
        """Go on from a schema that fits: plan, budget, fit, read, predict, report."""
        if counts:
            told = () if units is None else ("--units", str(units))
            self.run("plan", "--schema", "schema.yaml", "--rows", str(rows), *told, "--epsilon", epsilon)
        self.run("budget", "new", "budget.json", "--epsilon", epsilon)
        fit = ("--schema", "schema.yaml", "--epsilon", epsilon, "--budget", "budget.json")
        fit += ("--release-counts",) if counts else ()
        self.run("fit", "table.csv", *options, *fit, "-o", "model.json")
        self.run("show", "model.json")
        self.run("predict", "model.json", "table.csv", *options, "-o", "predictions.csv")
        self.run("report", "--new-form", "form.yaml")
        (self.folder / "form.yaml").write_text(json.dumps(FORM), encoding="utf-8")
        self.run("report", "model.json", "--form", "form.yaml", "--ledger", "budget.json", "-o", "report.html")


def ctg(way):
    data = hr.datasets.load("ctg")
    data.frame.assign(NSP=data.labels).to_csv(way.folder / "table.csv", index=False)

    def fill(schema):
        schema["label"]["classes"] = [1, 2, 3]
        for name, (low, high) in CTG.items():
            kind = "real" if isinstance(low + high, float) or name in ("FM", "MSTV", "MLTV") else "integer"
            schema["attributes"][name] = {"kind": kind, "low": low, "high": high}
        return 1 + len(CTG)

    way.run("schema", "new", "table.csv", "--target", "NSP", "-o", "schema.yaml")
    way.edit(fill)
    way.run("schema", "check", "schema.yaml", "table.csv")
    way.finish(2000, "1")
    return len(CTG) + 1, len(data.labels)


def adult(way):
    data = hr.datasets.load("adult")
    data.frame.assign(income=data.labels).fillna("?").to_csv(way.folder / "table.csv", index=False)
    fields = [{"name": "income", "type": "string", "constraints": {"enum": [str(c) for c in data.schema.classes]}}]
    for name, attribute in data.schema.attributes:
        if isinstance(attribute, hr.Categorical):
            fields.append({"name": name, "type": "string", "constraints": {"enum": list(attribute.values)}})
        else:
            limits = {"minimum": attribute.low, "maximum": attribute.high}
            fields.append({"name": name, "type": "integer", "constraints": limits})
    (way.folder / "meta.json").write_text(json.dumps({"fields": fields, "missingValues": ["?"]}), encoding="utf-8")
    way.run("schema", "import", "meta.json", "--target", "income", "-o", "schema.yaml")
    way.run("schema", "check", "schema.yaml", "table.csv")
    way.finish(45000, "1/2")
    return len(fields), len(data.labels)


def hospital(way):
    rows = visits()
    (way.folder / "table.csv").write_bytes("".join(f"{';'.join(row)}\r\n" for row in rows).encode("cp1252"))
    (way.folder / "dictionary.csv").write_text(DICTIONARY, encoding="utf-8")
    options = ("--encoding", "cp1252", "--decimal", ",")

    def words(schema):
        for name in ("smoker", "diabetic"):
            schema["attributes"][name] |= {"true_values": ["ja"], "false_values": ["nein"]}
        schema["attributes"]["pain"]["missing_values"] = [-9]
        schema["label"]["classes"] = ["nein", "ja"]
        schema["unit"] = {"column": "patient_id", "max_rows": 2}
        return 5

    way.run("schema", "import", "dictionary.csv", "--target", "readmitted", "-o", "schema.yaml")
    way.run("schema", "check", "schema.yaml", "table.csv", refused=True)  # not in UTF-8
    way.run("schema", "check", "schema.yaml", "table.csv", *options, refused=True)  # other words than the dictionary's
    way.edit(words)
    way.run("schema", "check", "schema.yaml", "table.csv", *options)
    way.finish(2500, "2", *options, units=1500)
    return len(rows[0]), len(rows) - 1


def visits():
    """Return made-up visits, with their header."""
    rng = random.Random(1)

    def number(value, digits=1):
        return f"{value:.{digits}f}".replace(".", ",")

    rows = [[line.partition(",")[0] for line in DICTIONARY.splitlines()[1:]]]
    for patient in range(1500):
        for _ in range(rng.choice([1, 1, 2, 4])):
            age, medicines, alone = rng.randint(18, 97), rng.randint(0, 18), rng.choice("YN")
            risk = 0.08 + 0.35 * (age > 75) + 0.25 * (medicines > 9) + 0.15 * (alone == "Y")
            rows.append([
                f"P{patient:05}", f"2025-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
                rng.choice(["männlich", "weiblich"]), str(age), rng.choice(["Chirurgie", "Innere", "Geriatrie"]),
                number(rng.gauss(27, 4)), rng.choice(["ja", "nein"]), rng.choice(["ja", "nein", ""]),
                number(rng.uniform(0.4, 3.5), 2), str(rng.randint(125, 150)), number(rng.uniform(7, 18)),
                rng.choice("12345"), rng.choice(CODES), rng.choice(["Notfall", "geplant"]),
                rng.choice(["gesetzlich", "privat"]), rng.choice([*map(str, range(11)), "-9"]),
                str(rng.randint(0, 5)), str(medicines), alone, "ja" if rng.random() < risk else "nein",
            ])  # fmt: skip
    return rows


def stays(way):
    rng, day = random.Random(7), date.fromisoformat
    rows = [["patient_id", "birth_date", "admitted", "sex", "diagnosis", "creatinine", "emergency", "readmitted"]]
    for patient in range(2400):
        birth = day("1925-01-01") + timedelta(days=rng.randrange(29_000))
        for _ in range(rng.choice([1, 1, 1, 2, 3, 5])):
            admitted, code = day("2024-01-01") + timedelta(days=rng.randrange(366)), rng.choice(STAYED)
            risk = 0.06 + 0.35 * (birth.year < 1950) + 0.25 * (code[0] in "IC")
            dates = [f"{item:%d.%m.%Y}" for item in (birth, admitted)]
            own = [rng.choice("fm"), code, f"{rng.uniform(0.4, 3.5):.2f}", rng.choice(["yes", "no"])]
            rows.append([f"P{patient:06}", *dates, *own, "yes" if rng.random() < risk else "no"])
    (way.folder / "table.csv").write_text("".join(f"{','.join(row)}\n" for row in rows), encoding="utf-8")
    years = {"years_since": "birth_date", "until": "2024-07-01", "format": "%d.%m.%Y"}
    attributes = {
        "birth_date": None, "diagnosis": None,
        "age": {"kind": "integer", "low": 0, "high": 100, "outside": "clip", "derived": years},
        "chapter": {"kind": "categorical", "values": list("CEFIJKNS"),
                    "derived": {"prefix_of": "diagnosis", "length": 1}},
        "admitted": {"kind": "date", "low": "2024-01-01", "high": "2024-12-31", "format": "%d.%m.%Y"},
        "sex": {"kind": "categorical", "values": ["f", "m"]},
        "creatinine": {"kind": "real", "low": 0, "high": 5},
        "emergency": {"kind": "boolean", "true_values": ["yes"], "false_values": ["no"]},
    }  # fmt: skip
    unit = {"column": "patient_id", "max_rows": 2}
    way.fill("readmitted", attributes=attributes, label={"classes": ["no", "yes"]}, unit=unit)
    way.finish(4000, "2", units=2400)
    return len(rows[0]), len(rows) - 1


def survey(way):
    rng, items = random.Random(8), [f"q{i}" for i in range(1, 10)]
    rows = [["respondent", "age_group", *items, "trust", "weight", "vaccinated"]]
    for respondent in range(5000):
        group, low, trust = rng.choice(AGES), rng.random() < 0.3, rng.randrange(5)
        answers = [str(min(3, max(0, round(rng.gauss(0.5 + 1.2 * low, 0.8))))) for _ in items]
        chance = 0.3 + 0.12 * trust - 0.2 * low
        own = [LIKERT[trust], f"{rng.uniform(0.3, 4.5):.3f}", "yes" if rng.random() < chance else "no"]
        rows.append([str(respondent), group, *answers, *own])
    (way.folder / "table.csv").write_text("".join(f"{','.join(row)}\n" for row in rows), encoding="utf-8")
    score = {"kind": "integer", "low": 0, "high": 27, "derived": {"sum": items, "each": [0, 3]}}
    ordered = {"age_group": AGES, "trust": LIKERT}
    attributes = dict.fromkeys([*items, "weight"]) | {"score": score}
    attributes |= {name: {"kind": "ordered", "values": values} for name, values in ordered.items()}
    declared = {"unit": {"column": "respondent", "max_rows": 1}, "weight": {"name": "weight", "high": 4.5}}
    way.fill("vaccinated", attributes=attributes, label={"classes": ["no", "yes"]}, **declared)
    way.finish(5000, "1", counts=False)
    return len(rows[0]), len(rows) - 1


def loans(way):
    rng, day = random.Random(9), date.fromisoformat
    rows = [["Kundennr", "Vertragsbeginn", "Einkommen", "Kreditsumme", "Laufzeit", "Ausfall"]]
    for customer in range(3000):
        income, credit = rng.lognormvariate(7.8, 0.5), rng.uniform(1000, 60_000)
        begin = day("2019-01-01") + timedelta(days=rng.randrange(1800))
        chance = 0.05 + 0.4 * (credit / income > 12) + 0.2 * (income < 1500)
        numbers = [f"{item:.2f}".replace(".", ",") for item in (income, credit)]
        own = [str(rng.choice([12, 24, 36, 48, 60])), "ja" if rng.random() < chance else "nein"]
        rows.append([str(100_000 + customer), f"{begin:%d.%m.%Y}", *numbers, *own])
    (way.folder / "table.csv").write_bytes("".join(f"{';'.join(row)}\r\n" for row in rows).encode("utf-8-sig"))
    attributes = {
        "Kundennr": None,
        "Vertragsbeginn": {"kind": "date", "low": "2019-01-01", "high": "2023-12-31", "format": "%d.%m.%Y"},
        "Einkommen": {"kind": "real", "low": 0, "high": 15_000, "outside": "clip"},
        "Kreditsumme": {"kind": "real", "low": 0, "high": 60_000},
        "burden": {"kind": "real", "low": 0, "high": 50, "outside": "clip",
                   "derived": {"ratio": ["Kreditsumme", "Einkommen"]}},
        "Laufzeit": {"kind": "integer", "low": 12, "high": 60},
    }  # fmt: skip
    way.fill("Ausfall", "--decimal", ",", attributes=attributes, label={"classes": ["nein", "ja"]})
    way.finish(3000, "1", "--decimal", ",")
    return len(rows[0]), len(rows) - 1


WAYS = {
    "cardiotocographs": ctg, "Adult": adult, "hospital": hospital, "stays": stays, "survey": survey, "loans": loans,
}  # fmt: skip


def main():
    result = []
    for name, walk in WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            way = Way(name, folder)
            columns, rows = walk(way)
            told = {"table": name, "columns": columns, "rows": rows, "commands": way.commands, "refused": way.refused}
            result.append(told | {"edited lines": way.edited, "seconds": f"{way.seconds:.0f}"})
    report("way", result)


if __name__ == "__main__":
    main()
