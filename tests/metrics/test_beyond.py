"""What a review tells beyond another one: known answers of a finite world, a run recomputed, and wrong settings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import Case, LMIdentity, Prediction, SpanLogprob
from gre_bench.core.settings import ScoringSettings
from gre_bench.metrics.scoring import build_predictions, combine_logprobs
from gre_bench.prompts.library import load, render
from tests.flows.refreshing import EDITION, add_reviews, demo, query, refreshed, reviews_by, run, use
from tests.scripted_lms import OverlapLM, scores_of

TEXTS = tuple(f"The reviewer criticizes point {k}." for k in range(3))
SETTINGS = ScoringSettings(metrics=("gem_s_beyond",), beyond=("other",))
BEYOND = find_recipe("gem_s_beyond")


class World:
    """An LM that knows P(x, y, z), *joint* of shape (3, 3, 3), over the reviews `TEXTS`; z is in the synopsis."""

    identity = LMIdentity("finite", "0" * 64, "finite-1")

    def __init__(self, joint: np.ndarray):
        self.joint = joint / joint.sum()

    def logprob(self, predictions):
        return [self.span(each) for each in predictions]

    def span(self, prediction: Prediction) -> SpanLogprob:
        x, z = (slice(None) if text is None else TEXTS.index(text) for text in (prediction.x, prediction.synopsis))
        of_y = self.joint[x, :, z]
        of_y = of_y.sum(axis=tuple(k for k in range(of_y.ndim) if k != (1 if isinstance(x, slice) else 0)))
        total = float(np.log(of_y[TEXTS.index(prediction.reply)] / of_y.sum()))
        return SpanLogprob(total, (0,), (total,))


def scores(world: World) -> np.ndarray:
    """The score of each (x, y, z)."""
    cases = [Case("p", "c", "r", "judgments", x, y, z) for x in TEXTS for y in TEXTS for z in TEXTS]
    found = scores_of(BEYOND.name, world, cases, SETTINGS)
    return np.array([each.value for each in found]).reshape(3, 3, 3)


def information(joint: np.ndarray, given_z: bool) -> float:
    """I(X; Y | Z), or I(X; Y) of a table whose last axis is summed out, by plain sums."""
    joint = joint if given_z else joint.sum(axis=2, keepdims=True)
    ratio = joint * joint.sum(axis=(0, 1)) / (joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True))
    return float((joint * np.log(ratio)).sum())


@pytest.mark.parametrize("seed", range(5))
def test_the_mean_score_is_the_conditional_information_and_falls_to_what_z_has_not_told(seed):
    world = World(np.random.default_rng(seed).random((3, 3, 3)) ** 2 + 0.01)
    assert (world.joint * scores(world)).sum() == pytest.approx(information(world.joint, given_z=True))
    assert information(world.joint, given_z=True) != pytest.approx(information(world.joint, given_z=False), abs=1e-4)


def test_a_review_tells_nothing_beyond_itself():
    of_zy = np.random.default_rng(6).random((3, 3))
    world = World(np.einsum("zy,xz->xyz", of_zy, np.eye(3)) + 1e-12)
    for z in range(3):
        assert scores(world)[z, :, z] == pytest.approx(np.zeros(3), abs=1e-9)


def test_x_and_z_together_tell_what_z_tells_and_what_x_tells_beyond_it():
    world = World(np.random.default_rng(7).random((3, 3, 3)))
    prompt = "predict_judgments_beyond"
    for x, y, z in np.ndindex(3, 3, 3):
        both, of_z, none = (
            world.span(Prediction(given_x, given_z, TEXTS[y], prompt)).total
            for given_x, given_z in ((TEXTS[x], TEXTS[z]), (None, TEXTS[z]), (None, None))
        )
        assert both - none == pytest.approx((of_z - none) + scores(world)[x, y, z])


def test_the_prompt_speaks_of_another_review_and_not_of_an_abstract():
    case = Case("p", "c", "r", "judgments", TEXTS[0], TEXTS[1], TEXTS[2])
    first, second = build_predictions(BEYOND, case, SETTINGS)
    assert (first.x, second.x, first.synopsis, second.synopsis) == (TEXTS[0], None, TEXTS[2], TEXTS[2])
    chat = render(first)
    assert "another review of the paper" in chat.user and "bstract" not in chat.user + chat.system
    assert first.reply == second.reply == TEXTS[1] and combine_logprobs(BEYOND, [-2.0, -5.0]) == 3.0


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """An edition scored beyond model-a, whose review one paper lacks."""
    use(OverlapLM())
    state = refreshed(tmp_path_factory.mktemp("beyond") / "state")
    add_reviews(state, reviews_by("model-a")[1:] + reviews_by("model-b"))
    assert run(state, "scoring.metrics=['gem_s_beyond', 'gem']", 'scoring.beyond="model-a"')["outcome"] == "done"
    return state


def test_scores_of_a_run_are_those_of_the_texts_by_plain_sums(state):
    judged = dict(query(state, "select review_id, text from judgments"))
    rows = query(
        state,
        """select paper_id, candidate_id, reference_id, value, r.review_id, z.review_id from pairs p
        join signatures s using (signature_id)
        join reviews r using (paper_id) join reviews z using (paper_id) where s.metric = 'gem_s_beyond'
        and state = 'scored' and p.candidate_id = r.candidate and r.candidate = 'model-b' and z.candidate = 'model-a'""",
    )
    assert len(rows) > 10
    for _, _, reference, scored, own, other in rows:
        words = judged[reference].split()
        known = [set(text.lower().split()) for text in (f"{judged[own]} {judged[other]}", judged[other])]
        likely = [np.array([-1 - 0.001 * len(w) if w.lower() in given else -4.0 for w in words]) for given in known]
        assert scored == pytest.approx(float((likely[0] - likely[1]).sum()))


def test_a_paper_without_the_other_review_is_left_out_for_all_and_the_signature_names_it(state):
    left = query(
        state, "select distinct reason, count(distinct paper_id) from pairs p join signatures s using (signature_id) "
        "where s.metric = 'gem_s_beyond' and state = 'excluded' group by all",
    )  # fmt: skip
    assert left == [("no_beyond", 1)]
    signed = query(state, "select metric, synopsis_writer, prompt_sha256 from signatures where chance = 'none'")
    by_metric = {metric: rest for metric, *rest in signed}
    assert by_metric["gem_s_beyond"] == ["model-a", load("predict_judgments_beyond").sha256]
    assert by_metric["gem"][1] == load("predict_judgments").sha256
    itself = query(
        state, "select max(abs(value)) from pairs p join signatures s using (signature_id) "
        "where s.metric = 'gem_s_beyond' and candidate_id = 'model-a' and state = 'scored'",
    )  # fmt: skip
    assert itself == [(0.0,)]


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (("scoring.metrics=['gem_s_beyond']",), "needs the name of a reviewer"),
        (("scoring.metrics=['gem_s_beyond']", "scoring.beyond=['human', 'model-a']"), "beyond names human with others"),
        (("scoring.metrics=['gem_s_beyond']", "scoring.beyond=model-c"), "no reviews by model-c; "),
    ],
)
def test_wrong_settings_are_one_line(state, overrides, why):
    with pytest.raises(SettingsError, match=why):
        run(state, *overrides)


def test_beyond_human_is_the_next_reference_of_the_paper_in_a_circle(state):
    assert run(state, "scoring.metrics=['gem_s_beyond']", "scoring.beyond=human")["outcome"] == "done"
    judged = dict(query(state, "select review_id, text from judgments"))
    references: dict[str, list[str]] = {}
    for paper, review in query(state, "select paper_id, review_id from sample where role = 'reference' order by place"):
        references.setdefault(paper, []).append(review)
    rows = query(
        state, "select paper_id, reference_id, r.review_id, value from pairs p join signatures s using (signature_id) "
        "join sample r using (paper_id) where s.metric = 'gem_s_beyond' and s.synopsis_writer = 'human' "
        "and p.state = 'scored' and candidate_id = 'human' and r.role = 'candidate'",
    )  # fmt: skip
    assert len(rows) == sum(map(len, references.values())) > 10
    for paper, reference, own, scored in rows:
        others = references[paper]
        other = others[(others.index(reference) + 1) % len(others)]
        assert other != reference
        words = judged[reference].split()
        known = [set(text.lower().split()) for text in (f"{judged[own]} {judged[other]}", judged[other])]
        likely = [np.array([-1 - 0.001 * len(w) if w.lower() in given else -4.0 for w in words]) for given in known]
        assert scored == pytest.approx(float((likely[0] - likely[1]).sum()))


def test_a_committee_is_its_reviews_in_order(state):
    summary = run(state, "scoring.metrics=['gem_s_beyond']", "scoring.beyond=['model-b', 'model-a']")
    assert summary["outcome"] == "done"
    (writer,) = query(state, "select synopsis_writer from signatures where synopsis_writer like '% and %' limit 1")
    assert writer == ("model-b and model-a",) and json.dumps(demo().scoring.beyond) == "[]"
    for name in ("model-a", "model-b"):
        itself = query(
            state, "select max(abs(value)) from pairs p join signatures s using (signature_id) where candidate_id = "
            f"'{name}' and s.synopsis_writer = 'model-b and model-a' and state = 'scored' and s.chance = 'none'",
        )  # fmt: skip
        assert itself == [(0.0,)]
    assert EDITION
