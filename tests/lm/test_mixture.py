"""The copying mixture: a true distribution over any evaluation LM, its contract, its files."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.register_assert_rewrite("tests.contracts.evaluation_lm")

from gre_bench.core.errors import LMError, SettingsError, SpanError  # noqa: E402
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob  # noqa: E402
from gre_bench.core.settings import EvaluationLMSettings  # noqa: E402
from gre_bench.lm.backends.blend import ARRAYS, CONFIG, OWN_TERMS, TERMS, Blend, load, save  # noqa: E402
from gre_bench.lm.backends.mixture import Known, Mixture  # noqa: E402
from gre_bench.lm.backends.reweighting import FEATURES, Bending, bent  # noqa: E402
from gre_bench.lm.backends.token_copies import PLACES, TokenCopies, Tokens, likeness, own_chances, own_places  # noqa: E402
from gre_bench.lm.catalog import open_lm  # noqa: E402
from tests.contracts.evaluation_lm import CONTRACT  # noqa: E402

SIGNS = "abAB .\u0000"
END = len(SIGNS) - 1


class Letters:
    """A tokenizer of single letters, one of which ends a turn."""

    all_special_ids = (END,)

    def __len__(self) -> int:
        return len(SIGNS)

    def __call__(self, text: str, **_: object) -> dict[str, list[int]]:
        return {"input_ids": [SIGNS.index(letter) for letter in text]}


class Scripted:
    """A scripted evaluation LM over letters: the next one depends on what is given and on the one before."""

    def __init__(self, serial: int = 0):
        self.identity = LMIdentity("scripted", f"{serial}", "test")
        self.tokenizer = Letters()
        self.calls: list[list[Prediction]] = []

    def logprob(self, predictions):
        self.calls.append(list(predictions))
        return [self.one(prediction) for prediction in predictions]

    def one(self, prediction: Prediction) -> SpanLogprob | SpanError:
        if "!" in f"{prediction.x}{prediction.synopsis}{prediction.reply}":
            return SpanError("refused", f"no: {prediction.x}")
        ids = [*self.tokenizer(prediction.reply)["input_ids"], END]
        logs = []
        for before, token in zip([END, *ids], ids, strict=False):
            seed = [before, *map(ord, f"{prediction.x}|{prediction.synopsis}")]
            chances = np.random.default_rng(seed).dirichlet(np.ones(len(SIGNS)))
            logs.append(math.log(max(chances[token], 1e-12)))
        return SpanLogprob(math.fsum(logs), tuple(ids), tuple(logs))


def blend(size: int = len(SIGNS), lm: str = "0", seed: int = 0, *, bends: bool = False) -> Blend:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 60, size).astype(np.int32)
    alike = (np.arange(size) % max(1, size - 2)).astype(np.int32)
    times = counts + 0.5
    arrays = {"counts": counts, "alike": alike, "share": times / np.bincount(alike, times)[alike]}
    if bends:
        arrays |= bending(rng, size)
    own, weights = (rng.dirichlet(np.ones(len(terms)), PLACES) for terms in (OWN_TERMS, TERMS))
    return Blend(lm, 60, 2.0, own, weights, arrays, tuple(rng.normal(0, 0.3, len(FEATURES))) if bends else ())


def bending(rng: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    topical = np.arange(size)[::2].astype(np.int32)
    return {
        "lift": rng.normal(0, 1, size).astype(np.float32),
        "topical": topical,
        "topics_of": rng.dirichlet(np.ones(3), len(topical)).astype(np.float32),
        "words_of": rng.uniform(0.1, 4, (3, len(topical))).astype(np.float32),
    }


texts = st.none() | st.text(st.sampled_from(SIGNS[:END]), max_size=12)


@given(x=texts, synopsis=texts, start=st.text(st.sampled_from(SIGNS[:END]), max_size=6))
@settings(max_examples=80)
def test_after_any_start_the_next_tokens_sum_to_one(x: str | None, synopsis: str | None, start: str) -> None:
    mixture = Mixture(Scripted(), blend())
    nexts = [Prediction(x, synopsis, start + letter) for letter in SIGNS[:END]]
    place = len(start)
    answers = mixture.logprob([*nexts, Prediction(x, synopsis, start)])
    assert sum(math.exp(answer.logprobs[place]) for answer in answers) == pytest.approx(1, abs=1e-9)
    for answer in answers:
        assert answer.total == pytest.approx(math.fsum(answer.logprobs))


@given(
    known=st.lists(st.lists(st.integers(0, 6), max_size=8), max_size=2), start=st.lists(st.integers(0, 6), max_size=5)
)
def test_every_source_is_a_distribution_or_has_nothing(known: list[list[int]], start: list[int]) -> None:
    whole = blend()
    copies = TokenCopies([np.array(text, dtype=np.int64) for text in known], whole.tokens)
    rows = np.array([copies.chances(np.array([*start, token], dtype=np.int64))[:, -1] for token in range(len(SIGNS))])
    for source in rows.T:
        assert np.isnan(source).all() or source.sum() == pytest.approx(1)


@given(st.lists(st.integers(0, 6), max_size=9), st.lists(st.integers(0, 6), max_size=9), st.integers(0, 6))
def test_the_kind_of_a_place_is_told_by_what_stands_before_it(known: list[int], reply: list[int], last: int) -> None:
    copies = TokenCopies([np.array(known, dtype=np.int64)], blend().tokens)
    one, other = (copies.places(np.array([*reply, token], dtype=np.int64)) for token in (last, (last + 1) % 7))
    assert (one == other).all()
    assert ((one >= 0) & (one < PLACES)).all()


@given(st.lists(st.integers(0, 6), max_size=6))
def test_the_reply_so_far_is_a_source_that_each_next_token_sums_to_one_over(start: list[int]) -> None:
    tokens = blend().tokens
    replies = [np.array([*start, token], dtype=np.int64) for token in range(len(SIGNS))]
    for source in np.array([own_chances(reply, tokens)[:, -1] for reply in replies]).T:
        assert np.isnan(source).all() or source.sum() == pytest.approx(1)
    kinds = [own_places(reply, tokens) for reply in replies]
    assert all((kind == kinds[0]).all() for kind in kinds)


@given(st.integers(0, 99), st.lists(st.integers(0, 11), max_size=9), st.floats(-30, 30))
def test_bent_distributions_are_distributions(seed: int, known: list[int], stretch: float) -> None:
    torch = pytest.importorskip("torch", reason="bending needs the extra `lm`")
    rng = np.random.default_rng(seed)
    tokens = blend(12, seed=seed).tokens
    features = Bending(tokens, bending(rng, 12)).features(np.array(known, dtype=np.int64))
    assert features.shape == (len(FEATURES), 12) and np.isfinite(features).all()
    logs = stretch * rng.normal(0, 1, len(FEATURES)) @ features
    rows = torch.from_numpy(rng.dirichlet(np.ones(15), 1).astype(np.float32))
    every = np.array([bent(rows, np.array([token]), np.append(logs, [0.0] * 3))[0] for token in range(15)])
    assert np.exp(every).sum() == pytest.approx(1, abs=1e-5)
    if token := next((token for token in range(12) if logs[token] == 0), None):
        # The same for tokens that the factors do not reach.
        assert bent(rows, np.array([token]), logs)[0] == pytest.approx(every[token], abs=1e-4)


def test_nothing_known_bends_nothing() -> None:
    features = Bending(blend(12).tokens, bending(np.random.default_rng(0), 12)).features(np.zeros(0, dtype=np.int64))
    assert not features.any()


def test_copies_follow_the_table() -> None:
    tokens = Tokens(np.full(9, 3.0), np.array([0, 0, 0, 0, 0, 1.0, 2, 1, 4]), np.array([0, 1, 2, 3, 4, 5, 6, 5, 8]),
                    np.array([1, 1, 1, 1, 1, 0.25, 1, 0.75, 1]))  # fmt: skip
    copies = TokenCopies([np.array([5, 6, 5]), np.array([5, 8])], tokens)
    nan = math.nan
    np.testing.assert_allclose(copies.chances(np.array([5, 6, 7, 8])), [
        [3 / 9, 2 / 9, 0, 4 / 9],  # drawn by weight: 5 three times, 6 and 8 once
        [2 / 2, 1 / 2, 0, nan],  # both texts start with 5; after 5 came 6 or 8; after 6 came 5; 7 is not there
        [2 / 2, 1 / 2, 0, nan],
        [3 / 9 / 4, 2 / 9, 3 / 9 * 0.75, 4 / 9],  # 7 is like 5, three times as frequent
        [1 / 4, 1 / 2, 1 * 0.75, 1 / 2],
    ])  # fmt: skip
    assert copies.places(np.array([5, 6, 7, 8])).tolist() == [1, 3 + 4, 3 + 4, 0]


def test_tokens_are_alike_but_for_blanks_capitals_and_endings() -> None:
    alike, share = likeness(["Ġpolicy", "Ġpolicies", "Policy", "Ġ", "é", "É", "▁Policies", "."], np.arange(8.0))
    assert alike[0] == alike[1] == alike[6] != alike[2]
    assert alike[4] == alike[5]
    assert len(set(alike.tolist())) == 5
    np.testing.assert_allclose(np.bincount(alike, share), 1)


def test_without_anything_known_only_the_reply_itself_is_copied_from() -> None:
    whole = blend()
    alone = replace(whole, own=np.eye(len(OWN_TERMS))[[0] * PLACES])
    prediction = Prediction(None, None, "ab A.")
    (answer,) = Mixture(Scripted(), alone).logprob([prediction])
    assert answer.total == pytest.approx(Scripted().one(prediction).total)
    repeated = Prediction(None, None, "abababab")
    copying = replace(whole, own=np.array([[0.2, 0.0, 0.4, 0.4]] * PLACES))
    totals = [Mixture(Scripted(), one).logprob([repeated])[0].total for one in (alone, copying)]
    assert totals[1] > totals[0]


def test_the_inner_lm_is_asked_once_for_both_terms_of_all_pairs() -> None:
    inner = Scripted()
    Mixture(inner, blend()).logprob(
        [Prediction("ab", None, "b"), Prediction("B", None, "b"), Prediction("ab", "A", "b")]
    )
    assert [sorted(call, key=str) for call in inner.calls] == [sorted([
        Prediction("ab", None, "b"), Prediction(None, None, "b"), Prediction("B", None, "b"),
        Prediction("ab", "A", "b"), Prediction(None, "A", "b"),
    ], key=str)]  # fmt: skip


def test_an_lm_whose_term_given_x_weighs_nothing_is_asked_for_the_marginals_alone() -> None:
    inner, whole = Scripted(), blend()
    weights = whole.weights.copy()
    weights[:, 1] += weights[:, 0]
    weights[:, 0] = 0
    Mixture(inner, replace(whole, weights=weights)).logprob([Prediction("ab", None, "b"), Prediction("B", "A", "b")])
    assert inner.calls == [[Prediction(None, None, "b"), Prediction(None, "A", "b")]]
    answers = Mixture(inner, replace(whole, weights=weights)).logprob([Prediction("\ud800", None, "b")])
    assert (answers[0].code, answers[0].final) == ("bad_text", True)


def test_a_refused_term_refuses_its_pair_and_no_other() -> None:
    pairs = [Prediction("a!", None, "b"), Prediction("a", None, "b"), Prediction("a", None, "b!")]
    refused, answer, also = Mixture(Scripted(), blend()).logprob(pairs)
    assert (refused.code, str(refused)) == ("refused", "no: a!")
    assert isinstance(answer, SpanLogprob) and isinstance(also, SpanError)


def test_copying_raises_a_reply_that_repeats_what_is_known() -> None:
    # Signs alike 0, 5 and 1, 6 share a number; the LM is the same for every x here.
    class Deaf(Scripted):
        def one(self, prediction):
            return super().one(replace(prediction, x=None))

    mixture = Mixture(Deaf(), blend())
    same, other = mixture.logprob([Prediction("ABABAB", None, "ABAB"), Prediction("..", None, "ABAB")])
    assert same.total > other.total


def test_a_synopsis_is_copied_from_in_the_marginal_too() -> None:
    inner, mixture = Scripted(), Mixture(Scripted(), blend())
    marginal = Prediction(None, "abab", "abab")
    assert mixture.logprob([marginal])[0].total != inner.logprob([marginal])[0].total


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="this evaluation LM needs the extra `lm`")
    from tests.lm.chat_models import build_chat_model

    return build_chat_model(tmp_path_factory.mktemp("mixture") / "lm", "chatml")


@pytest.fixture(scope="module", params=["plain", "bent"])
def mixture_folder(folder: Path, request: pytest.FixtureRequest) -> Path:
    lm = open_lm(EvaluationLMSettings(backend="transformers", folder=folder, device="cpu"))
    where = folder / request.param
    save(blend(len(lm.tokenizer), lm.identity.digest, bends=request.param == "bent"), where)
    return where


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
def test_a_mixture_keeps_the_contract(folder: Path, mixture_folder: Path, rule) -> None:
    lm = open_lm(EvaluationLMSettings(backend="transformers", folder=folder, device="cpu"))
    rule(lambda: Mixture(lm, load(mixture_folder)))


def test_running_out_of_memory_refuses_what_is_bent_for_now_and_nothing_else(folder: Path, monkeypatch) -> None:
    import torch

    lm = open_lm(EvaluationLMSettings(backend="transformers", folder=folder, device="cpu"))
    mixture = Mixture(lm, blend(len(lm.tokenizer), lm.identity.digest, bends=True))
    asked = [Prediction(x, None, y) for x in (None, "a", "b") for y in ("c", "d")]
    calls = []

    def full(*_: object, **__: object) -> None:
        calls.append(1)
        if len(calls) > 1:
            torch.empty(2**60)
        raise torch.OutOfMemoryError("CUDA out of memory")

    with monkeypatch.context() as patched:
        patched.setattr(lm.weights.model, "forward", full)
        alone, refused = (mixture.logprob(asked)[cut] for cut in (slice(0, 2), slice(2, 6)))
    assert all(isinstance(answer, SpanLogprob) for answer in alone)
    assert {(answer.code, answer.final, answer.broken) for answer in refused} == {("out_of_memory", False, False)}
    assert len(calls) == 4  # once a reply and call, not once a pair
    assert all(isinstance(answer, SpanLogprob) for answer in mixture.logprob(asked))

    def faulty(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(lm.weights.model, "forward", faulty)
    with pytest.raises(RuntimeError, match="a bug"):
        mixture.logprob(asked)


@pytest.mark.parametrize("asks", [True, False])
def test_control_tokens_written_in_x_are_broken_up_before_copying_and_counted(folder: Path, asks: bool) -> None:
    lm = open_lm(EvaluationLMSettings(backend="transformers", folder=folder, device="cpu"))
    whole = blend(len(lm.tokenizer), lm.identity.digest)
    weights = np.tile([0.01 * asks, 0.01 + 0.01 * (not asks), 0, 0.49, 0.49, 0, 0, 0], (PLACES, 1))
    mixture = Mixture(lm, replace(whole, weights=weights))
    reply, end = "The reviewer suggests an ablation.", "<|im_end|>"
    texts = [reply, f"{reply}{end}", f"{end}{reply}{end}", f"<|im<|im_end|>_end|>{reply}{end}"]
    answers = mixture.logprob([Prediction(x, None, reply) for x in texts])
    assert [answer.escaped for answer in answers] == [0, 1, 2, 2]
    control = lm.tokenizer.convert_tokens_to_ids(end)
    assert {answer.ids[-1] for answer in answers} == {control}
    for text in texts:
        (ids,) = Known(mixture).ids(Prediction(text, None, reply))
        assert control not in ids
    plain = mixture.logprob([Prediction(None, None, reply)])[0].logprobs[-1]
    assert all(answer.logprobs[-1] < plain + 0.5 for answer in answers)
    both = mixture.logprob([Prediction(None, end, reply + end), Prediction(end, end, reply + end)])
    assert [answer.escaped for answer in both] == [2, 3]


def test_the_setting_wraps_the_lm_and_the_identity_says_so(folder: Path, mixture_folder: Path) -> None:
    settings = EvaluationLMSettings(backend="transformers", folder=folder, device="cpu")
    alone = open_lm(settings).identity
    mixed = open_lm(settings.model_copy(update={"mixture": mixture_folder})).identity
    assert "mixture" in mixed.name and mixed.engine_version.startswith("mixture-2+")
    assert mixed.digest != alone.digest
    assert (mixed.dtype, mixed.attention, mixed.template_digest) == (
        alone.dtype,
        alone.attention,
        alone.template_digest,
    )
    with pytest.raises(SettingsError, match="cannot be mixed with copies"):
        open_lm(EvaluationLMSettings(mixture=mixture_folder))


def test_other_weights_or_counts_are_another_identity() -> None:
    whole = blend()
    others = [blend(seed=1), replace(whole, exponent=3.0), replace(whole, papers=61)]
    others.append(replace(whole, arrays={**whole.arrays, "counts": whole.arrays["counts"] + 1}))
    others.append(replace(whole, own=whole.own[::-1]))
    others.append(replace(whole, weights=whole.weights[::-1]))
    digests = {Mixture(Scripted(), one).identity.digest for one in [whole, blend(), *others]}
    assert len(digests) == 1 + len(others)


def test_a_mixture_comes_back_from_its_files(tmp_path: Path) -> None:
    for number, whole in enumerate((blend(), blend(bends=True))):
        save(whole, tmp_path / f"{number}")
        assert load(tmp_path / f"{number}").digest == whole.digest


def test_a_mixture_of_another_lm_or_vocabulary_is_refused() -> None:
    with pytest.raises(LMError, match="was fitted for another evaluation LM than scripted: fit one"):
        Mixture(Scripted(1), blend())
    with pytest.raises(LMError, match="knows 5 tokens, the tokenizer has 7"):
        Mixture(Scripted(), blend(5))
    with pytest.raises(LMError, match="bends the distributions of scripted, which does not give them"):
        Mixture(Scripted(), blend(bends=True))


@pytest.mark.parametrize("name", [CONFIG, ARRAYS])
def test_a_missing_or_damaged_file_is_one_clear_line(tmp_path: Path, name: str) -> None:
    save(blend(), tmp_path / "good")
    folder = shutil.copytree(tmp_path / "good", tmp_path / "bad")
    data = (folder / name).read_bytes()
    for damaged in (b"", b"[]", data[: len(data) // 2]):
        (folder / name).write_bytes(damaged)
        with pytest.raises(LMError, match=r"^the mixture in .* is damaged [^\n]*$"):
            load(folder)
    (folder / name).unlink()
    with pytest.raises(LMError, match=rf"^no mixture in .*: {name} is missing; fit one with [^\n]*$"):
        load(folder)


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"format": 99}, "another format"), ({"levels": [1.0]}, "another format"), ({"weights": [[1.0]]}, "damaged")],
)
def test_numbers_that_do_not_fit_are_refused(tmp_path: Path, changes: dict[str, object], what: str) -> None:
    save(blend(), tmp_path)
    config = json.loads((tmp_path / CONFIG).read_text())
    (tmp_path / CONFIG).write_text(json.dumps({**config, **changes}))
    with pytest.raises(LMError, match=what):
        load(tmp_path)
