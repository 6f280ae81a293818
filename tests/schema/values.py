"""Attributes of every kind, and where a value falls, in the plainest words."""

from fractions import Fraction

from hypothesis import strategies as st

from hedgerow.schema import Boolean, Categorical, Date, Integer, Ordered, Real
from hedgerow.text.days import Day, as_day
from hedgerow.text.values import value_text

WORDS = ["a", "b", "B", "7", "true", "0", "-9", "?"]


def policies(*outside):
    missing = st.just({}) | st.fixed_dictionaries(
        {
            "missing": st.just("bin"),
            "missing_values": st.lists(st.sampled_from(["?", -9, "none"]), unique=True).map(tuple),
        }
    )
    return st.tuples(missing, st.sampled_from(["error", *outside])).map(lambda both: both[0] | {"outside": both[1]})


@st.composite
def numbers(draw, kind, number):
    low, *cuts, high = sorted(draw(st.lists(number, min_size=2, max_size=6, unique=True)))
    cuts = [low, *cuts] if draw(st.booleans()) else cuts
    return kind(low, high, tuple(cuts), **draw(policies("clip", "bin")))


def with_spellings(draw, words, least=1):
    """Words as values with other spellings, in half of the draws."""
    n_values = draw(st.integers(least, len(words)) | st.just(len(words)))
    values, others = words[:n_values], words[n_values:]
    return {value: [value, *others[place::n_values]] for place, value in enumerate(values)} if others else tuple(words)


@st.composite
def categoricals(draw):
    words = draw(st.lists(st.sampled_from([*WORDS[:6], 1, 2]), min_size=1, max_size=5, unique_by=str))
    return Categorical(with_spellings(draw, words), **draw(policies("bin")))


@st.composite
def ordereds(draw):
    words = draw(st.lists(st.sampled_from([*WORDS[:6], 1, 2, "2020-01-31"]), min_size=2, max_size=6, unique_by=str))
    return Ordered(with_spellings(draw, words, 2), **draw(policies("bin")))


@st.composite
def booleans_by_words(draw):
    words = draw(st.lists(st.sampled_from([*WORDS[:6], 1, 2]), min_size=2, max_size=5, unique_by=str))
    place = draw(st.integers(1, len(words) - 1))
    return Boolean(true_values=tuple(words[:place]), false_values=tuple(words[place:]), **draw(policies()))


booleans = policies().map(lambda policy: Boolean(**policy)) | booleans_by_words()


integers = numbers(Integer, st.integers(-8, 8))


reals = numbers(Real, st.integers(-4, 4).map(lambda x: x / 2))


def by_text(policy):
    return policy | {"missing_values": tuple(map(str, policy.get("missing_values", ())))}


@st.composite
def dates(draw):
    low, *cuts, high = sorted(draw(st.lists(st.integers(-8, 8).map(Day), min_size=2, max_size=6, unique=True)))
    return Date(low, high, cuts, **by_text(draw(policies("clip", "bin"))))


attributes = booleans | categoricals() | dates() | integers | ordereds() | reals


def reading(attribute, value):
    """What one value is to a person: a value of the domain, "missing", "outside" or, where that is one, "error"."""
    value = value.strip() if isinstance(value, str) else value
    if value in (None, "") or value != value or any(is_token(value, token) for token in attribute.missing_values):
        result = "missing"
    elif isinstance(attribute, Boolean) and attribute.true_values:
        word = str(value).lower() if isinstance(value, bool) else value_text(value)
        result = next((truth for truth, words in by_truth(attribute) if word in map(str, words)), "outside")
    elif isinstance(attribute, Boolean):
        words = {"true": True, "1": True, "false": False, "0": False}
        result = words.get(value_text(value).lower(), "outside")
    elif isinstance(attribute, Categorical):
        groups = attribute.other_spellings or ((),) * len(attribute.values)
        pairs = zip(attribute.values, groups, strict=True)
        words = {str(word): str(own) for own, group in pairs for word in (own, *group)}
        result = words.get(value_text(value), "outside")
    else:
        result = number(attribute, value)
    return "error" if result in ("missing", "outside") and getattr(attribute, result) == "error" else result


def by_truth(attribute):
    return (True, attribute.true_values), (False, attribute.false_values)


def is_token(value, token):
    return value_text(value) == value_text(token)


def number(attribute, value):
    if isinstance(attribute, Date):
        day = as_day(value)
        if not isinstance(day, Day):
            return "error"
        if attribute.outside == "clip":
            return min(max(day, attribute.low), attribute.high)
        return day if attribute.low <= day <= attribute.high else "outside"
    try:
        value = float(value)
    except ValueError:
        return "error"
    if attribute.outside == "clip":
        return min(max(value, attribute.low), attribute.high)
    whole = value == round(value) or isinstance(attribute, Real)
    return value if attribute.low <= value <= attribute.high and whole else "outside"


def bin_of(attribute, value):
    """The number of a value's bin, one value at a time; None where it is an error."""
    result = reading(attribute, value)
    if result == "error":
        return None
    if result == "missing":
        return len(attribute.bins) - 1 - (attribute.outside == "bin")
    if result == "outside":
        return len(attribute.bins) - 1
    if isinstance(attribute, Boolean):
        return int(result)
    if isinstance(attribute, Categorical):
        return [str(value) for value in attribute.values].index(result)
    return sum(result > cut for cut in attribute.cuts)


def holds(attribute, literal, value):
    """Whether a value satisfies a literal, one value at a time, by the literal's own docstring."""
    result, operands = reading(attribute, value), literal.operands
    if result in ("missing", "outside"):
        return literal.operator in {"missing": ("missing",), "outside": ("outside", "!=", "known")}[result]
    if isinstance(attribute, Ordered):  # of values, their places are compared
        words = [str(value) for value in attribute.values]
        result, operands = words.index(result), [words.index(str(operand)) for operand in operands]
    return {
        "true": lambda: result is True,
        "false": lambda: result is False,
        "=": lambda: str(result) == str(operands[0]),
        "!=": lambda: str(result) != str(operands[0]),
        "<=": lambda: result <= operands[0],
        ">": lambda: result > operands[0],
        "between": lambda: operands[0] < result <= operands[1],
        "known": lambda: True,
    }.get(literal.operator, lambda: False)()


def level_of(number, value):
    """The level of a value, by its definition: (edge k, edge k + 1], and the lower bound in the first one."""
    width = (Fraction(number.high) - Fraction(number.low)) / number.levels
    edges = [float(Fraction(number.low) + k * width) for k in range(number.levels + 1)]
    value = min(max(value, number.low), number.high)
    return next(k for k in range(number.levels) if value <= edges[k + 1])
