"""Differential privacy: budgets, mechanisms, the gate that every release passes, and privacy cards."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow.privacy.account import Account
    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.budget_chain import Record
    from hedgerow.privacy.budget_file import FileBudget
    from hedgerow.privacy.card import PrivacyCard
    from hedgerow.privacy.charge import Charge
    from hedgerow.privacy.facts import Fact
    from hedgerow.privacy.noise import Mechanism, NoiseSource, SecureNoise, SeededNoise

__all__ = [
    "Account", "Budget", "Charge", "Fact", "FileBudget", "Mechanism", "NoiseSource", "PrivacyCard",
    "Record", "SecureNoise", "SeededNoise",
]  # fmt: skip
_HOME_OF = {
    "Account": "account",
    "Budget": "budget",
    "Charge": "charge",
    "Fact": "facts",
    "FileBudget": "budget_file",
    "PrivacyCard": "card",
    "Record": "budget_chain",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hedgerow.privacy' has no attribute {name!r}")
    return getattr(import_module(f"hedgerow.privacy.{_HOME_OF.get(name, 'noise')}"), name)
