import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

from hedgerow.audit.readers.encoders import made_by
from hedgerow.errors import DomainError
from hedgerow.schema import Categorical, Schema

SCHEMA = Schema({"hue": Categorical(("red", "blue"))})


def test_categories_that_the_schema_does_not_declare_are_refused():
    encoder = OneHotEncoder().fit(pd.DataFrame({"hue": ["red", "violet"]}))
    with pytest.raises(DomainError, match="hue"):
        made_by(encoder, SCHEMA)
