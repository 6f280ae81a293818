"""Twin for the registry of differential privacy deployments: the public sheet as a record of it, in YAML.

The keys and choices are those of github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml at commit
057e5d8 of 2026.
"""

from __future__ import annotations

import re
from typing import Any

from hedgerow.errors import ArgumentError
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import total_rho
from hedgerow.report.form import Form
from hedgerow.report.report import Report
from hedgerow.schema.files import mapping_text
from hedgerow.values import listed

NEEDED = ("title", "purpose", "population", "curator", "curator_type", "unit", "region", "publication_date", "author")
"""The entries of a form that a record cannot do without."""
_DETAILED = ("cut_points", "preprocessing", "tuning")  # without these a record is of tier 2
_LONGEST_SLUG = 80


def registry_record(report: Report) -> dict[str, Any]:
    """Return the record of a private model, a draft for the registry's board. It is made of the public sheet alone."""
    subject = report.subject
    card, form = subject.card, subject.form
    if not card.is_private or card.epsilon is None:
        raise ArgumentError(
            "expected a model with a guarantee of differential privacy for the registry, got one without."
        )
    missing = [name for name in NEEDED if not getattr(form, name)]
    if missing:
        raise ArgumentError(
            f"expected a form with {listed(NEEDED, 20)} for the registry, got one without {missing[0]}."
        )
    return {
        "url_slug": _slug(form.title),
        "deployment": {
            "basic": _basic(form, subject.kind),
            "dp_variant": {
                "variant_name": "Approximate DP" if card.delta else "Pure DP",
                "data_domain": f"Tables that fit the public schema with the digest {_digest(report)}.",
                "unprotected_quantities": _lines("The schema with its cut points.", form.cut_points, *card.notes),
            },
            "privacy_loss": _loss(form, card),
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "release_type_details": report.public.section("releases").answer,
                "access_type": "Non-interactive",
            },
            "implementation": _implementation(report, card),
            "administrative": {
                "status": "Draft",
                "registry_authors": [form.author],
                "tier": 3 if all(getattr(form, name) for name in _DETAILED) else 2,
            },
        },
    }


def registry_yaml(report: Report) -> str:
    """Return the record as the text of a YAML file; raises as `registry_record` does."""
    return mapping_text("record.yaml", registry_record(report))


def _basic(form: Form, kind: str) -> dict[str, Any]:
    return {
        "name": form.title,
        "data_curators": [{"data_curator_name": form.curator, "data_curator_type": form.curator_type}],
        "description": _lines(f"A {kind}.", form.population),
        "intended_use": form.purpose,
        "data_product_type": "Machine learning model",
        "data_product_region": form.region,
        **({"data_product_sector": form.sector} if form.sector else {}),
        "publication_date": form.publication_date,
    }


def _loss(form: Form, card: PrivacyCard) -> dict[str, Any]:
    parameters = {"epsilon": card.epsilon, **({"delta": card.delta} if card.delta else {})}
    rho = total_rho(card.planned)
    if rho is not None:
        parameters["rho"] = rho
    return {
        "privacy_unit": form.unit,
        "privacy_unit_details": f"Neighbouring tables: {card.neighbours}.",
        "privacy_parameters": {name: float(amount) for name, amount in parameters.items() if amount is not None},
        "privacy_parameters_details": f"{card.guarantee}. Amounts are kept as exact fractions.",
    }


def _implementation(report: Report, card: PrivacyCard) -> dict[str, Any]:
    form = report.subject.form
    charged = [
        f"{one.purpose}: {one.mechanism or 'not named'} (epsilon {float(one.epsilon):g})" for one in card.charges
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": _lines(form.preprocessing, form.tuning) or "Not stated.",
        "mechanisms": _lines(*charged, f"Noise: {card.noise}.", f"Software: {card.software}."),
        "composition": "Sequential composition: epsilon and delta of all charges are added up exactly.",
        "post_processing": "Probabilities, predictions and exports are computed of the released model alone.",
        "utility": report.public.section("accuracy").answer,
    }


def _digest(report: Report) -> str:
    schema = report.subject.schema
    return "none" if schema is None else schema.digest


def _slug(title: str) -> str:
    """Return a title as a part of an address: letters, digits and hyphens."""
    return re.sub("[^a-z0-9]+", "-", title.lower()).strip("-")[:_LONGEST_SLUG] or "model"


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
