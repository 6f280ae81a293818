"""Readers of models that other software wrote as text, PMML or SQL, without a guarantee."""
