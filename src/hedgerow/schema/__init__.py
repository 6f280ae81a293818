"""Schemas, which are public: attributes with their domains and cut points, class labels, literals, candidate rules."""

from hedgerow.privacy.unit import Unit
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.candidates import Candidates, count_candidates
from hedgerow.schema.dates import Date, default_date_cuts
from hedgerow.schema.derivation import Derivation
from hedgerow.schema.derived import DerivationBackend, Prefix, Ratio, Sum, YearsSince
from hedgerow.schema.grid import default_cuts
from hedgerow.schema.imports.draft import Draft, DraftColumn
from hedgerow.schema.imports.files import import_schema, import_types
from hedgerow.schema.listed import Boolean, Categorical, Ordered
from hedgerow.schema.literals import Extent, Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Label, Number, OrderedLabel
from hedgerow.schema.weights import Weight
from hedgerow.text.days import Day

__all__ = [
    "Attribute", "Boolean", "Candidates", "Categorical", "Date", "Day", "Derivation", "DerivationBackend", "Draft",
    "DraftColumn", "Extent",
    "Integer", "Label", "Literal", "Number", "Ordered", "OrderedLabel", "Prefix", "Ratio", "Real", "Schema", "Sum",
    "Unit", "Weight", "YearsSince", "count_candidates", "default_cuts", "default_date_cuts", "import_schema",
    "import_types",
]  # fmt: skip
