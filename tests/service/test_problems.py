"""Problems: every exception of the service has one, and text of others is not passed on."""

from fractions import Fraction

import pytest

from hedgerow import errors
from hedgerow.service.app import ProblemError, problem_of


@pytest.mark.parametrize(
    ("error", "status", "charged"),
    [
        (errors.AccessError("not you"), 403, False),
        (errors.QuestionError("not so"), 422, False),
        (errors.RequestConflictError("other"), 422, False),
        (errors.RequestRunningError("wait"), 409, True),
        (errors.RequestFailedError("failed"), 424, True),
        (errors.ServiceBusyError("busy"), 503, False),
    ],
)
def test_the_services_own_texts_are_told(error, status, charged):
    problem = problem_of(error)
    assert (problem.status, problem.charged, problem.detail) == (status, charged, str(error))


@pytest.mark.parametrize(
    "error", [ValueError("CANARY"), errors.DomainError("CANARY"), errors.LedgerError("CANARY"), OSError("CANARY")]
)
def test_texts_of_other_errors_are_not(error):
    told = problem_of(error).to_dict()
    assert "CANARY" not in str(told)
    assert (told["status"], told["charged"]) == (500, None)


def test_a_cap_is_told_exactly():
    error = errors.BudgetExceededError(
        requested=Fraction(1, 3), remaining=Fraction(1, 7), requested_delta=Fraction(0), remaining_delta=Fraction(0)
    )
    error.cap = "dataset"
    told = problem_of(error).to_dict()
    assert (told["cap"], told["asked"]["epsilon"], told["left"]["epsilon"]) == ("dataset", "1/3", "1/7")


def test_a_problem_is_itself():
    problem = ProblemError(400, "x", "X", "do y")
    assert problem_of(problem) is problem
