"""The evaluation LM behind a vLLM server, against a scripted server: what is sent, and every way it can go wrong."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

transformers = pytest.importorskip("transformers", reason="the evaluation LM needs the extra `lm`")

from gre_bench.core.errors import LMError, SettingsError, SpanError  # noqa: E402
from gre_bench.core.records import Prediction, SpanLogprob  # noqa: E402
from gre_bench.core.settings import EvaluationLMSettings  # noqa: E402
from gre_bench.lm.backends.vllm_client import RetryPolicy  # noqa: E402
from gre_bench.lm.backends.vllm_lm import VLLM  # noqa: E402
from gre_bench.lm.opening import open_lm  # noqa: E402
from gre_bench.lm.protocol import collect_and_clear_remarks  # noqa: E402
from gre_bench.lm.span import ChatTemplate  # noqa: E402
from gre_bench.prompts.library import render  # noqa: E402
from tests.contracts.evaluation_lm import CONTRACT  # noqa: E402
from tests.holds import hold_until  # noqa: E402
from tests.lm.chat_models import build_tokenizer  # noqa: E402
from tests.one_line import one_line  # noqa: E402
from tests.servers.scripted_vllm import ScriptedVLLM, logprobs_by_rule, scripted_vllm  # noqa: E402

WHOLE, GIVEN = "/v1/completions", "/inference/v1/generate"
QUICK = RetryPolicy(attempts=3, timeout_s=60.0, first_wait_s=0.02, longest_wait_s=0.2)
X = "The reviewer appreciates the clear writing."
PREDICTIONS = [Prediction(X, None, f"The reviewer questions step {n}.") for n in range(6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer alone, as one has it of a model that is served elsewhere."""
    folder = tmp_path_factory.mktemp("tokenizers") / "llama3"
    build_tokenizer("llama3").save_pretrained(folder)
    return folder


def opened(server: ScriptedVLLM | str, folder: Path, **options: Any) -> VLLM:
    url = server if isinstance(server, str) else server.url
    return VLLM.open(url, folder, **({"revision": "r1", "dtype": "float32", "retry_policy": QUICK} | options))


@contextmanager
def serving(folder: Path, given: str = "yes", parallel: int = 16, dtype: str = "float32", **server: Any):
    """Yields a scripted server, and the evaluation LM that it runs."""
    with scripted_vllm(given=given, **server) as scripted:
        yield scripted, opened(scripted, folder, parallel=parallel, dtype=dtype)


def expected(folder: Path, prediction: Prediction) -> SpanLogprob:
    """What the scripted server's rule gives for the span."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    conversation = ChatTemplate.from_tokenizer(tokenizer).encode(render(prediction))
    logprobs = tuple(logprobs_by_rule(conversation.ids)[conversation.first - 1 :])
    return SpanLogprob(sum(logprobs), conversation.ids[conversation.first :], logprobs)


def assert_right(answers: list[SpanLogprob | SpanError], folder: Path, predictions: list[Prediction]) -> None:
    for answer, prediction in zip(answers, predictions, strict=True):
        wanted = expected(folder, prediction)
        assert isinstance(answer, SpanLogprob), answer
        assert (answer.ids, answer.logprobs) == (wanted.ids, wanted.logprobs)
        assert answer.total == pytest.approx(wanted.total, rel=1e-12)


@pytest.mark.parametrize("given", ["yes", "old_runner", "drops"])
@pytest.mark.parametrize("rule_kept", CONTRACT, ids=lambda rule_kept: rule_kept.__name__)
def test_the_contract_is_kept_whichever_way_the_server_is_asked(folder: Path, rule_kept, given: str) -> None:
    with scripted_vllm(given=given) as server:
        rule_kept(lambda: opened(server, folder))


def test_only_the_tokens_of_the_span_are_asked_for_in_the_order_of_the_tokens(folder: Path) -> None:
    with serving(folder, parallel=1) as (server, lm):
        server.requests.clear()
        assert_right(lm.logprob(PREDICTIONS[::-1]), folder, PREDICTIONS[::-1])
    assert [path for path, _ in server.requests] == [GIVEN] * len(PREDICTIONS)
    sent = [body["token_ids"] for _, body in server.requests]
    assert sent == sorted(sent)
    sampling = server.requests[0][1]["sampling_params"]
    assert len(sampling["prompt_logprob_token_ids"]) == len(expected(folder, PREDICTIONS[0]).ids)
    assert (sampling["max_tokens"], sampling["temperature"], sampling["skip_reading_prefix_cache"]) == (1, 0.0, False)
    assert lm.remarks == []


@pytest.mark.parametrize("given", ["absent", "disabled", "old_runner", "ignored", "wrong"])
def test_a_server_that_cannot_score_given_tokens_is_asked_for_all_and_that_is_said_once(folder, given):
    with serving(folder, given) as (server, lm):
        server.requests.clear()
        assert_right(lm.logprob(PREDICTIONS), folder, PREDICTIONS)
        assert_right(lm.logprob(PREDICTIONS[:1]), folder, PREDICTIONS[:1])
    assert {path for path, _ in server.requests} == {WHOLE}
    body = server.requests[0][1]
    assert (body["prompt_logprobs"], body["max_tokens"], body["temperature"]) == (0, 1, 0.0)
    (remark,) = collect_and_clear_remarks(lm)
    assert "cannot score a reply's tokens alone" in remark


@pytest.mark.parametrize(("dtype", "way"), [("float32", WHOLE), ("bfloat16", GIVEN), ("float16", GIVEN)])
def test_the_two_ways_to_ask_may_differ_by_what_the_dtype_rounds(folder: Path, dtype: str, way: str) -> None:
    with serving(folder, given="rounded", dtype=dtype) as (server, lm):
        server.requests.clear()
        lm.logprob(PREDICTIONS)
    assert {path for path, _ in server.requests} == {way}
    assert bool(lm.remarks) == (way == WHOLE)


def test_the_identity_is_the_same_whichever_way_the_server_is_asked(folder: Path) -> None:
    identities = set()
    for given in ("yes", "old_runner"):
        with scripted_vllm(given=given) as server:
            identities.add(opened(server, folder).identity)
    (identity,) = identities
    assert (identity.name, identity.engine_version, identity.attention) == ("tiny", "vllm-0.32.0-1", "server")


def test_a_dropped_score_is_asked_for_again_without_the_cache(folder: Path) -> None:
    with serving(folder, given="drops", parallel=1) as (server, lm):
        server.requests.clear()
        assert_right(lm.logprob(PREDICTIONS[:2]), folder, PREDICTIONS[:2])
    skips = [body["sampling_params"]["skip_reading_prefix_cache"] for _, body in server.requests]
    assert skips == [False, True] * 2


def test_a_server_that_stops_scoring_given_tokens_in_mid_run_is_asked_for_all(folder: Path) -> None:
    with serving(folder) as (server, lm):
        server.given = "disabled"
        assert_right(lm.logprob(PREDICTIONS), folder, PREDICTIONS)
    assert len(lm.remarks) == 1


@pytest.mark.parametrize("fault", ["429", "500", "503", "reset", "html", "half", "slow"])
def test_what_passes_by_itself_is_tried_again_and_what_does_not_pass_is_left_for_the_next_run(folder, fault) -> None:
    with serving(folder, "absent") as (server, lm):
        if fault != "slow":
            server.script = [fault, fault]
            assert_right(lm.logprob(PREDICTIONS[:1]), folder, PREDICTIONS[:1])
        server.then = fault
        lm._client.retry_policy = replace(QUICK, attempts=2, timeout_s=0.3 if fault == "slow" else 60.0)
        (answer,) = lm.logprob(PREDICTIONS[:1])
        assert isinstance(answer, SpanError)
        assert (answer.code, answer.final, answer.broken) == ("no_answer", False, False)
        server.then, lm._client.retry_policy = "ok", QUICK
        assert_right(lm.logprob(PREDICTIONS[:1]), folder, PREDICTIONS[:1])


def test_a_server_says_how_long_to_wait(folder: Path) -> None:
    with serving(folder, "absent", retry_after="0.15") as (server, lm):
        server.script = ["429"]
        began = time.monotonic()
        assert_right(lm.logprob(PREDICTIONS[:1]), folder, PREDICTIONS[:1])
        assert time.monotonic() - began >= 0.15
        server.retry_after, server.then = "3600", "429"
        (answer,) = lm.logprob(PREDICTIONS[:1])
        assert isinstance(answer, SpanError) and "asks to wait 3600 s" in str(answer)


def test_neighbours_of_a_fault_are_answered_with_no_more_requests_in_flight_than_allowed(folder: Path) -> None:
    with serving(folder, "absent", parallel=3) as (server, lm):
        server.until = lambda _: server.peak >= 3
        lm.logprob(PREDICTIONS)
    assert server.peak == 3
    spoilt = expected(folder, PREDICTIONS[2]).ids
    with scripted_vllm(
        given="absent", when=lambda ids: "503" if tuple(ids[-len(spoilt) :]) == spoilt else None
    ) as server:
        answers = opened(server, folder).logprob(PREDICTIONS)
    assert isinstance(answers.pop(2), SpanError)
    assert_right(answers, folder, PREDICTIONS[:2] + PREDICTIONS[3:])


def test_a_server_that_is_down_is_not_asked_for_each_conversation(folder: Path) -> None:
    with serving(folder, parallel=2) as (_, lm):
        pass
    waits: list[int] = []

    class Counted(RetryPolicy):
        def compute_wait_s(self, attempt: int, stated_s: float | None = None) -> float | None:
            waits.append(attempt)
            return super().compute_wait_s(attempt, stated_s)

    lm._client.retry_policy = Counted(attempts=3, timeout_s=60.0, first_wait_s=0.02)
    many = [Prediction(X, None, f"The reviewer suggests {n}.") for n in range(40)]
    tries = []
    for _ in range(2):
        waits.clear()
        answers = lm.logprob(many)
        tries.append(len(waits))
        assert all(isinstance(answer, SpanError) and not answer.final for answer in answers)
    assert tries[0] <= 3 * 3 and tries[1] <= 2, "patient once, then told at once"


UNTRUSTED = {
    "absent": {
        "misaligned": "short shifted bare", "not_finite": "nan nan_500 null text floor", "positive": "positive",
        "all_zero": "all_zero", "refused_request": "list 400 422",
    },
    "yes": {"not_finite": "nan", "misaligned": "short wide objects garbled"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "fault", "code"),
    [(given, fault, code) for given, codes in UNTRUSTED.items() for code in codes for fault in codes[code].split()],
)
def test_an_answer_that_cannot_be_trusted_is_a_fault_of_the_lm(folder: Path, given: str, fault: str, code: str) -> None:
    with serving(folder, given) as (server, lm):
        server.script = [fault]
        (answer,) = lm.logprob(PREDICTIONS[:1])
    assert isinstance(answer, SpanError), answer
    assert (answer.code, answer.broken) == (code, True)


@pytest.mark.parametrize("given", ["absent", "yes"])
@pytest.mark.parametrize("cached", ["zeros", "stale"])
def test_a_server_whose_cached_prefix_has_other_numbers_is_not_opened(folder: Path, cached: str, given: str) -> None:
    with scripted_vllm(given=given, cached=cached) as server:
        for _ in range(2):  # what the first trial leaves in the cache does not help the second
            with one_line("for the same tokens when it is asked again", "--no-enable-prefix-caching", kind=LMError):
                opened(server, folder)


def test_zeros_of_a_cached_prefix_that_come_after_the_trial_are_no_log_probabilities(folder: Path) -> None:
    common = "The reviewer appreciates the clear proofs and the honest tables of the paper. "
    texts = [Prediction(X, None, common + end) for end in ("It is short.", "It is long.", "It is late.")]
    with serving(folder, "absent", parallel=1) as (server, lm):
        server.cached = "zeros"
        answers = lm.logprob(texts) + lm.logprob(texts)
    right = [expected(folder, prediction).total for prediction in texts] * 2
    for answer, total in zip(answers, right, strict=True):
        if isinstance(answer, SpanError):
            assert (answer.code, answer.broken) == ("cached_prefix", True)
        else:
            assert answer.total == pytest.approx(total)
    assert sum(isinstance(answer, SpanError) for answer in answers) >= 4


def test_a_zero_within_a_span_is_asked_for_again_and_counts_only_if_it_is_stated_again(folder: Path) -> None:
    with serving(folder, "absent") as (server, lm):
        server.script = ["one_zero", "ok"]
        (unsteady,) = lm.logprob(PREDICTIONS[:1])
        server.script = ["one_zero", "one_zero"]
        server.requests.clear()
        (certain,) = lm.logprob(PREDICTIONS[:1])
        assert isinstance(unsteady, SpanError) and (unsteady.code, unsteady.broken) == ("unsteady", True)
        assert isinstance(certain, SpanLogprob) and certain.logprobs[-1] == 0 and server.count(WHOLE) == 2
        server.requests.clear()
        assert_right(lm.logprob(PREDICTIONS[:1]), folder, PREDICTIONS[:1])
        assert server.count(WHOLE) == 1


def test_tokens_alone_whose_cached_prefix_is_zero_are_asked_for_without_the_cache(folder: Path) -> None:
    with serving(folder) as (server, lm):
        server.given = "zeros"
        assert_right(lm.logprob(PREDICTIONS), folder, PREDICTIONS)
        assert server.count(GIVEN) == 2 + 2 * len(PREDICTIONS)
    with serving(folder, "zeros") as (server, lm):
        (remark,) = collect_and_clear_remarks(lm)
    assert "nats off" in remark


def test_a_conversation_too_long_for_the_server_and_one_token_more_is_finally_refused(folder: Path) -> None:
    with serving(folder, "absent", served={"tiny": 2048}) as (server, lm):
        server.script = ["long"]
        (said,) = lm.logprob(PREDICTIONS[:1])
    assert isinstance(said, SpanError)
    assert (said.code, said.final, said.broken) == ("too_long", True, False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    length = len(ChatTemplate.from_tokenizer(tokenizer).encode(render(PREDICTIONS[0])).ids)
    for context, right in ((length + 1, True), (length, False)):
        with scripted_vllm(served={"tiny": context}) as server:
            (answer,) = opened(server, folder).logprob(PREDICTIONS[:1])
        assert isinstance(answer, SpanLogprob) == right


@pytest.mark.parametrize("status", ["401", "403", "404"])
def test_a_server_that_closes_its_door_ends_the_run(folder: Path, status: str) -> None:
    with serving(folder, "absent") as (server, lm):
        server.then = status
        with pytest.raises(LMError, match=status):
            lm.logprob(PREDICTIONS)
    with one_line(f"no vLLM server at {server.url}", "evaluation_lm.endpoint", kind=LMError):
        opened(server, folder)


def test_a_server_that_is_busy_at_first_is_opened(folder: Path) -> None:
    with scripted_vllm("503", given="absent") as server:
        assert_right(opened(server, folder).logprob(PREDICTIONS[:1]), folder, PREDICTIONS[:1])


@pytest.mark.parametrize("fault", ["shifted", "nan", "positive", "all_zero", "logits", "500", "bare"])
def test_a_server_whose_trial_fails_is_not_opened(folder: Path, fault: str) -> None:
    with scripted_vllm(then=fault) as server, pytest.raises(LMError, match="trial failed|add up to"):
        opened(server, folder)


def test_the_model_that_is_configured_must_be_the_one_served_and_is_named_without_its_path(folder: Path) -> None:
    with scripted_vllm(served={"one": 512, "other": 512}) as server:
        assert opened(server, folder, model="other").identity.name == "other"
        for name, said in (("third", "does not serve 'third'"), (None, "serves several")):
            with pytest.raises(LMError, match=f"{said}.*one, other"):
                opened(server, folder, model=name)
    with scripted_vllm(served={"/mnt/models/llama": 2048}) as server:
        assert opened(server, folder).identity.name == "llama"


def test_the_digest_tells_models_apart(folder: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    build_tokenizer("llama3").save_pretrained(weights)
    (weights / "model.safetensors").write_bytes(b"some weights")
    with scripted_vllm() as server:
        digests = [
            opened(server, where, revision=revision).identity.digest
            for where, revision in ((folder, "r1"), (folder, "r2"), (weights, None), (weights, "r1"))
        ]
        assert len(set(digests)) == 4
        assert opened(server, folder).identity.digest == digests[0]
        with pytest.raises(SettingsError, match="evaluation_lm.revision"):
            opened(server, folder, revision=None)


def test_what_the_server_does_not_tell_must_be_stated(folder: Path) -> None:
    with pytest.raises(LMError, match="'int8' is none of float32, bfloat16, float16"):
        opened("http://127.0.0.1:1", folder, dtype="int8")
    with pytest.raises(SettingsError, match="evaluation_lm.dtype"):
        open_lm(EvaluationLMSettings(backend="vllm", folder=folder, revision="r1"))
    with pytest.raises(SettingsError, match="evaluation_lm.folder"):
        open_lm(EvaluationLMSettings(backend="vllm", dtype="bfloat16"))
    with scripted_vllm() as server:
        settings = EvaluationLMSettings(
            backend="vllm", folder=folder, revision="r1", dtype="bfloat16", quantisation="awq-4bit",
            endpoint=f"{server.url}/v1/",
        )  # fmt: skip
        identity = open_lm(settings).identity
    assert (identity.dtype, identity.quantisation) == ("bfloat16", "awq-4bit")


@pytest.mark.parametrize(
    "url", ["ftp://a", "127.0.0.1:8000", "http://", "http://me:secret@host", "http://host/?a=1", "http:// a"]
)
def test_an_endpoint_that_is_no_plain_url_is_refused_and_so_is_a_folder_without_a_tokenizer(folder, url) -> None:
    with pytest.raises(SettingsError, match="evaluation_lm.endpoint"):
        opened(url, folder)
    with one_line("absent", kind=LMError):
        opened("http://127.0.0.1:9", folder / "absent")
    with one_line(str(folder.parent), kind=LMError):
        opened("http://127.0.0.1:9", folder.parent)


def test_the_key_comes_from_the_environment_and_is_never_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_vllm(given="absent") as server:
        with pytest.raises(LMError, match="VLLM_KEY"):
            opened(server, folder, key_env="VLLM_KEY")
        monkeypatch.setenv("VLLM_KEY", "sk-very-secret")
        lm = opened(server, folder, key_env="VLLM_KEY")
        server.script = ["key"]
        (answer,) = lm.logprob(PREDICTIONS[:1])
    assert {headers["authorization"] for headers in server.headers} == {"Bearer sk-very-secret"}
    assert "sk-very-secret" not in str(answer) and "[key]" in str(answer)


def test_a_stopped_wait_ends_at_once_and_leaves_no_request(folder: Path) -> None:
    class Stop(BaseException):
        """What a handler of Ctrl-C raises."""

    def stop(number: int, frame: object) -> None:
        raise Stop

    with serving(folder, "absent", parallel=4) as (server, lm):
        server.until = lambda _: False

        def stop_when_all_are_under_way() -> None:
            hold_until(lambda: server.peak == 4)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)

        before = signal.signal(signal.SIGALRM, stop)
        stopper = threading.Thread(target=stop_when_all_are_under_way)
        try:
            stopper.start()
            with pytest.raises(Stop):
                lm.logprob(PREDICTIONS)
        finally:
            stopper.join()
            signal.signal(signal.SIGALRM, before)
        began = time.monotonic()
        while any(thread.name == "vllm" for thread in threading.enumerate()):
            assert time.monotonic() - began < 60, "nothing is ever answered here"
            time.sleep(0.02)
