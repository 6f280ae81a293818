"""Makers of the numbers of pages, a module a group of pages."""

from __future__ import annotations

from page_numbers import (
    audits,
    benchmark_models,
    benchmark_pages,
    benchmark_times,
    chance,
    dependencies,
    draws,
    history,
    large_tables,
    models,
    outages,
    outcomes,
    readability,
    readings,
    same_bins,
    services,
    study_later_work,
    study_sets,
    study_ssrl,
    study_width,
)

__all__ = [
    "audits",
    "benchmark_models",
    "benchmark_pages",
    "benchmark_times",
    "chance",
    "dependencies",
    "draws",
    "history",
    "large_tables",
    "models",
    "outages",
    "outcomes",
    "readability",
    "readings",
    "same_bins",
    "services",
    "study_later_work",
    "study_sets",
    "study_ssrl",
    "study_width",
]
