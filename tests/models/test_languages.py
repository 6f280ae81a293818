"""Pages, forms and caveats of models in each language."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Boolean, Integer, Label, Literal, Schema
from hedgerow.text.language import LANGUAGES, in_language

SCHEMA = Schema({"age": Integer(0, 99, cuts=(30, 60)), "smoker": Boolean()}, Label("ill", ("no", "yes")))
CARD = PrivacyCard.none("example")
OLD, SMOKER = Literal("age", ">", (60,)), Literal("smoker", "false", ())
MODELS = {
    "tree": Tree(SCHEMA, Split(OLD, Leaf((1, 30)), Split(SMOKER, Leaf((40, 2)), Leaf((9, 9)))), CARD),
    "rule list": RuleList(SCHEMA, (Rule((OLD, SMOKER), (1, 30)), Rule((), (40, 2))), CARD),
    "scorecard": Scorecard(SCHEMA, (1,), (AttributePoints("age", ((-2,), (0,), (3,))),), 0.5, 0.1, CARD),
}
WORDS = {
    "tree": {"de": "Entscheidungsbaum", "fr": "arbre de décision"},
    "rule list": {"de": "Regelliste", "fr": "liste de règles"},
    "scorecard": {"de": "Punktekarte", "fr": "grille de score"},
}


@pytest.mark.parametrize("name", MODELS)
def test_a_page_is_in_its_language_and_has_one_digest(name):
    mpl.use("Agg")
    model = MODELS[name]
    digest = model.to_dict()["digest"]
    for language in LANGUAGES:
        page = model.to_page(language=language)
        assert f'<html lang="{language}">' in page
        assert digest in page
        assert WORDS[name].get(language, name).capitalize() in page
    assert model.to_page() == model.to_page(language="en")
    with pytest.raises(ValueError, match=r"'es'"):
        model.to_page(language="es")


def test_a_form_is_in_its_language():
    mpl.use("Agg")
    for language, total in {"en": "total", "de": "Summe", "fr": "total"}.items():
        axes = MODELS["scorecard"].form(language=language)
        assert total in {text.get_text() for text in axes.texts}
        plt.close("all")
    with pytest.raises(ValueError, match=r"language .*'es'"):
        MODELS["scorecard"].form(language="es")


def test_caveats_are_in_the_language_in_which_they_are_asked_for():
    constant = Tree(SCHEMA, Leaf((1, 30)), CARD)
    constant = replace(constant, privacy=PrivacyCard((Charge("counts", 1),), noise="OpenDP", software="hedgerow"))
    sentences = {}
    for language in (*LANGUAGES, "en"):
        with in_language(language):
            sentences.setdefault(language, []).append(constant.caveats[0].sentence)
    assert len({texts[0] for texts in sentences.values()}) == len(LANGUAGES)
    assert len({*sentences["en"]}) == 1
