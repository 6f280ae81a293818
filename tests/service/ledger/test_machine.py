"""The ledger against the obvious one: a list of charges as fractions, in one process's memory."""

import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hedgerow.errors import (
    BudgetExceededError,
    LedgerError,
    RequestConflictError,
    RequestFailedError,
    RequestRunningError,
)
from hedgerow.service.ledger.ledger import Answered
from tests.service.databases import ledger_at
from tests.service.ledger.asking import asked, declare

ANALYSTS = st.sampled_from(["ana", "bob", "eve"])
KEYS = st.sampled_from(["one", "two", "three"])
AMOUNTS = st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(3, 2)])
BODIES = st.sampled_from(["what", "who"])
CAPS = {"ana": Fraction(1), "bob": Fraction(2)}


class Obvious(RuleBasedStateMachine):
    """Requests by analyst and key: [body, state, attempts, amount, answer]; two processes, of which each may end."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.url = f"sqlite:///{Path(self.folder.name)}/ledger.db"
        self.ledgers = [ledger_at(self.url), ledger_at(self.url)]
        declare(self.ledgers[0])
        self.known, self.held = {}, {}

    def spent(self, analyst):
        return sum((known_request[3] for (who, _), known_request in self.known.items() if who == analyst), Fraction(0))

    @rule(analyst=ANALYSTS, key=KEYS, amount=AMOUNTS, body=BODIES, place=st.integers(0, 1))
    def reserve(self, analyst, key, amount, body, place):
        known_request = self.known.get((analyst, key))
        try:
            result = self.ledgers[place].reserve(asked(key, amount, analyst, body))
        except LedgerError:
            assert analyst == "eve"
        except BudgetExceededError:
            assert known_request is None
            assert self.spent(analyst) + amount > CAPS[analyst]
        except RequestConflictError:
            assert known_request[0] != body
        except RequestRunningError:
            assert (known_request[0], known_request[1]) == (body, "reserved")
            assert (analyst, key) in self.held
        except RequestFailedError:
            assert known_request[1] == "failed"
        else:
            if isinstance(result, Answered):
                assert (known_request[1], known_request[4]) == ("answered", result.content)
                return
            if known_request is None:
                assert self.spent(analyst) + amount <= CAPS[analyst]
                known_request = self.known[analyst, key] = [body, "reserved", 0, amount, None]
            known_request[2] = min(2, known_request[2] + 1)
            assert result.attempt == known_request[2]
            self.held[analyst, key] = place, result

    @rule(data=st.data(), content=st.binary(max_size=3), fails=st.booleans())
    def end(self, data, content, fails):
        if not self.held:
            return
        which = data.draw(st.sampled_from(sorted(self.held)))
        place, result = self.held.pop(which)
        if fails:
            self.ledgers[place].fail(result, "a value outside the schema")
        else:
            self.ledgers[place].answer(result, content)
        self.known[which][1], self.known[which][4] = "failed" if fails else "answered", content

    @rule(place=st.integers(0, 1))
    def stop(self, place):
        self.ledgers[place].close()
        self.ledgers[place] = ledger_at(self.url)
        self.held = {which: held for which, held in self.held.items() if held[0] != place}

    @invariant()
    def nothing_is_overspent_and_all_is_on_record(self):
        for analyst, cap in CAPS.items():
            assert self.ledgers[0].account("wards", analyst).spent == self.spent(analyst) <= cap
        assert self.ledgers[0].account("wards").spent == sum(map(self.spent, CAPS))
        self.ledgers[1].verify()

    def teardown(self):
        for ledger in self.ledgers:
            ledger.close()
        self.folder.cleanup()


TestObvious = Obvious.TestCase
TestObvious.settings = settings(stateful_step_count=15)
