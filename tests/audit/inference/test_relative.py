import numpy as np
import pytest

from hedgerow.audit import OfflineRmia, Rmia
from tests.audit.inference.shadow_tables import ignoring, leaky, made_up


def by_hand(shadows, usual):
    """Return the scores, fit by fit: the share of rows with a smaller ratio, and half of those with an equal one."""
    n_splits, n_rows = shadows.inside.shape
    result = np.empty((2, n_splits, n_rows))
    for split in range(n_splits):
        others = [k for k in range(n_splits) if k != split]
        for first in (True, False):
            ratios = []
            for row in range(n_rows):
                has = shadows.first[split, row] == first
                said = (shadows.inside if has else shadows.outside)[split, row]
                expected = usual(shadows.inside[others, row], shadows.outside[others, row])
                ratios.append(said / expected if expected > 0 else np.inf if said > 0 else 1.0)
            ratios = np.array([round(ratio, 7) for ratio in ratios])
            for row in range(n_rows):
                side = 0 if shadows.first[split, row] == first else 1
                share = (ratios < ratios[row]).mean() + (ratios == ratios[row]).mean() / 2
                result[side, split, row] = share
    return result


def online(inside, outside):
    return (inside.mean() + outside.mean()) / 2


def offline(_, outside, a=0.3):
    return ((1 + a) * outside.mean() + 1 - a) / 2


@pytest.mark.parametrize(("attack", "usual"), [(Rmia(), online), (OfflineRmia(), offline)], ids=["online", "offline"])
@pytest.mark.parametrize("kind", ["labels", "probabilities", "both", "constant"])
def test_scores_are_shares_of_rows_with_smaller_ratios(attack, usual, kind):
    shadows = ignoring(6, 9, kind=kind, seed=1)
    np.testing.assert_allclose(attack.scores(shadows), by_hand(shadows, usual), atol=1e-12)
    shadows = leaky(6, 9, strength=0.1)
    np.testing.assert_allclose(attack.scores(shadows), by_hand(shadows, usual), atol=1e-12)


def test_a_label_that_no_other_fit_gets_right_is_the_most_evidence():
    inside, outside = np.zeros((5, 4)), np.zeros((5, 4))
    inside[2, 1] = 1  # one fit alone
    members, _ = Rmia().scores(made_up(inside, outside))
    assert members[2, 1] == pytest.approx(3.5 / 4)
    assert members[2, 1] > members[2, [0, 2, 3]].max()


def test_a_is_a_share():
    assert str(OfflineRmia(0.5)) == "relative likelihood ratio (RMIA), offline with a = 0.5"
    with pytest.raises(ValueError, match=r"^a "):
        OfflineRmia(1)
