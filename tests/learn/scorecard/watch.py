"""When rows are looked at."""

import hedgerow as hr
from hedgerow.privacy.gate import Gate


def watch_rows(monkeypatch, budget, *methods):
    """From now on fail where these methods of a tally run outside a query that is charged; return a list of queries."""
    inside, release = [], Gate.release

    def released(self, mechanism, answer, *, query, no_guarantee=()):
        def watched():
            assert budget.spent == budget.charges[-1].epsilon > 0
            inside.append(query)
            result = answer()
            inside.append(None)
            return result

        return release(self, mechanism, watched, query=query, no_guarantee=no_guarantee)

    def guarded(method):
        def call(self):
            assert inside, "rows were looked at before a query"
            assert inside[-1] is not None, "rows were looked at between two queries"
            return method(self)

        return call

    monkeypatch.setattr(Gate, "release", released)
    for name in methods:
        monkeypatch.setattr(hr.Tally, name, guarded(getattr(hr.Tally, name)))
    return inside
