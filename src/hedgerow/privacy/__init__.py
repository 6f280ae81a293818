"""Differential privacy: budgets, mechanisms, the gate that every release passes, and privacy cards."""
