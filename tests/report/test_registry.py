"""Records for the registry of deployments, held against its schema as of commit 057e5d8."""

from dataclasses import replace
from fractions import Fraction

import pytest
import yaml

from hedgerow.privacy.charge import Charge
from hedgerow.report import Form, Report
from hedgerow.report.exports import REGISTRY_FIELDS, registry_record, registry_yaml
from tests.report.subjects import CARD, a_table, a_tree, no_guarantee_reason, without_privacy

STATED = {name: f"some {name}" for name in REGISTRY_FIELDS}
FORM = Form(**STATED | {"curator_type": "Nonprofit", "publication_date": "2026-11-23", "title": "Falls, at <home>"})
ALLOWED = {  # keys by object: all have additionalProperties: False
    "": {"url_slug", "deployment"},
    "deployment": {"basic", "dp_variant", "privacy_loss", "deployment_model", "implementation", "administrative"},
    "basic": {
        "name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region",
        "data_product_sector", "publication_date",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters",
        "privacy_parameters_details",
    },
    "privacy_parameters": {"epsilon", "delta", "rho"},
    "deployment_model": {
        "model_name", "model_name_details", "trust_assumptions", "actors", "release_type", "release_type_details",
        "data_source_type", "data_source_type_details", "access_type", "access_type_details",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing", "justification",
        "utility", "additional_information",
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}  # fmt: skip
REQUIRED = {
    "": {"url_slug", "deployment"},
    "deployment": {"basic", "administrative"},
    "basic": {
        "name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region",
        "publication_date",
    },
    "administrative": {"status", "registry_authors", "tier"},
}  # fmt: skip
CHOICES = {
    "data_curator_type": {"Government", "Industry", "Nonprofit"},
    "data_product_type": {"Summary statistics", "Machine learning model", "Dataset", "Synthetic data"},
    "data_product_sector": {"Technology", "Healthcare", "Education", "Government", "Energy", "Finance"},
    "variant_name": {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
    "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
    "release_type": {"One release", "Many releases"},
    "access_type": {"Interactive", "Non-interactive"},
    "status": {"Converted", "Draft", "Pending", "Approved"},
}


def problems(data, name=""):
    """Return what the registry's schema refuses."""
    result = [
        f"{name}: {key}" for key in set(data) - ALLOWED.get(name, set(data)) | REQUIRED.get(name, set()) - set(data)
    ]
    for key, value in data.items():
        if key in CHOICES and value not in CHOICES[key]:
            result.append(f"{key} is {value}")
        for part in value if isinstance(value, list) else [value]:
            result += problems(part, key) if isinstance(part, dict) else []
        if not isinstance(value, (str, dict, list)) and key not in {"epsilon", "delta", "rho", "tier"}:
            result.append(f"{key} is no text")
    return result


@pytest.mark.parametrize("sector", ["", "Healthcare"])
def test_a_record_fits_the_registrys_schema(sector):
    record = registry_record(Report.of(a_tree(), form=replace(FORM, sector=sector)))
    assert problems(record) == []
    assert record["deployment"]["administrative"]["tier"] == 2
    assert record["url_slug"] == "falls-at-home"
    assert record["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 1
    assert problems({**record, "author": "x"}) == [": author"]


def test_a_full_form_makes_a_record_of_the_third_tier():
    form = replace(FORM, cut_points="a guideline", preprocessing="none", tuning="none")
    record = registry_record(Report.of(a_tree(), form=form))
    assert record["deployment"]["administrative"]["tier"] == 3
    assert "a guideline" in record["deployment"]["dp_variant"]["unprotected_quantities"]


def test_a_delta_makes_it_approximate():
    card = replace(CARD, charges=(Charge("draw", Fraction(1), Fraction(1, 10**6)),))
    record = registry_record(Report.of(a_tree(card), form=FORM))["deployment"]
    assert record["dp_variant"]["variant_name"] == "Approximate DP"
    assert record["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}


def test_the_yaml_is_read_back_and_dates_are_text():
    report = Report.of(a_tree(), form=FORM)
    assert yaml.safe_load(registry_yaml(report)) == registry_record(report)
    assert yaml.safe_load(registry_yaml(report))["deployment"]["basic"]["publication_date"] == "2026-11-23"


def test_rows_do_not_change_a_record():
    X, y = a_table()
    assert registry_yaml(Report.of(a_tree(), form=FORM, train=(X, y))) == registry_yaml(Report.of(a_tree(), form=FORM))


@pytest.mark.parametrize("name", REGISTRY_FIELDS)
def test_what_a_record_needs_is_asked_for(name):
    with pytest.raises(ValueError, match=rf"lacks .*{name}"):
        registry_record(Report.of(a_tree(), form=replace(FORM, **{name: ""})))


@pytest.mark.parametrize("model", [without_privacy(), a_tree(no_guarantee_reason())])
def test_a_model_without_a_guarantee_is_no_deployment(model):
    with pytest.raises(ValueError, match="with a guarantee only"):
        registry_record(Report.of(model, form=FORM))


def test_titles_without_letters_have_an_address_too():
    assert registry_record(Report.of(a_tree(), form=replace(FORM, title="Стул")))["url_slug"] == "model"


def test_a_record_states_how_many_rows_one_person_can_have():
    report = Report.of(a_tree(), form=replace(FORM, rows_per_unit=6))
    details = registry_record(report)["deployment"]["privacy_loss"]["privacy_unit_details"]
    assert details.endswith("One person has at most 6 rows.")
