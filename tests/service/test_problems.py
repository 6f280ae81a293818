"""Problems: every exception of the service has one, and text of others is not passed on."""

import json
from fractions import Fraction

import pytest

from hedgerow import errors
from hedgerow.service.problems import ProblemError, problem_of, response_of


@pytest.mark.parametrize(
    ("error", "status", "charged"),
    [
        (errors.AccessError("not you"), 403, False),
        (errors.QuestionError("not so"), 422, False),
        (errors.RequestConflictError("other"), 422, False),
        (errors.RequestRunningError("wait"), 409, True),
        (errors.RequestFailedError("failed"), 424, True),
        (errors.ServiceBusyError("busy"), 503, False),
        (errors.ServiceUnavailableError(charged=True, retry_after=7), 503, True),
        (errors.ServiceUnavailableError(charged=False, retry_after=7), 503, False),
    ],
)
def test_the_services_own_texts_are_told(error, status, charged):
    problem = problem_of(error)
    assert (problem.status, problem.charged, problem.detail) == (status, charged, str(error))


@pytest.mark.parametrize(
    "error", [ValueError("CANARY"), errors.DomainError("CANARY"), errors.LedgerError("CANARY"), KeyError("CANARY")]
)
def test_texts_of_other_errors_are_not(error):
    told = problem_of(error).to_dict()
    assert "CANARY" not in str(told)
    assert (told["status"], told["charged"]) == (500, None)


@pytest.mark.parametrize(
    "error", [MemoryError("CANARY"), OSError("CANARY"), errors.SourceUnavailableError("CANARY", cause="lock")]
)
def test_environment_failures_ask_for_a_retry_and_reveal_no_more(error):
    response = response_of(error)
    told = json.loads(response.body)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert (told["type"], told["charged"]) == ("urn:hedgerow:problem:unavailable", None)
    assert "CANARY" not in str(told)


def test_retry_after_is_what_the_error_says():
    assert response_of(errors.ServiceUnavailableError(charged=True, retry_after=7)).headers["Retry-After"] == "7"


def test_a_cap_is_reported_exactly():
    error = errors.BudgetExceededError(
        requested=Fraction(1, 3), remaining=Fraction(1, 7), requested_delta=Fraction(0), remaining_delta=Fraction(0)
    )
    error.cap = "dataset"
    told = problem_of(error).to_dict()
    assert (told["cap"], told["asked"]["epsilon"], told["left"]["epsilon"]) == ("dataset", "1/3", "1/7")


def test_a_problem_is_itself():
    problem = ProblemError(400, "x", "X", "do y")
    assert problem_of(problem) is problem
