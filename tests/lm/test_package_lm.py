"""Another package's evaluation LM may return anything: each fault is one line that names the LM."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob
from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.lm import opening
from gre_bench.lm.protocol import compute_checked_span_logprobs
from tests.one_line import one_line

ASKED = [Prediction(None, None, "The reviewer likes it."), Prediction("x", None, "The reviewer likes it.")]
SOUND = SpanLogprob(-3.0, (1, 2), (-1.0, -2.0))


class Foreign:
    identity = LMIdentity("theirs", "none", "1")

    def __init__(self, returned):
        self.returned = returned

    def logprob(self, predictions):
        if isinstance(self.returned, Exception):
            raise self.returned
        return self.returned


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "returned NoneType instead of a list"),
        ("ab", "returned str instead of a list"),
        (iter([SOUND, SOUND]), "instead of a list"),
        ({}, "returned dict instead of a list"),
        ([], "returned 0 results for 2 predictions"),
        ([SOUND], "returned 1 results for 2 predictions"),
        ([SOUND] * 3, "returned 3 results for 2 predictions"),
        ([SOUND, -3.0], "a result of type float"),
        ([None, SOUND], "a result of type NoneType"),
        (["", SOUND], "a result of type str"),
        (ZeroDivisionError("division\nby zero"), "failed: ZeroDivisionError: division by zero"),
        (OSError(28, "No space left on device"), "failed: OSError"),
    ],
)
def test_what_is_no_list_of_one_result_a_prediction_ends_in_one_line(returned, said):
    with one_line("evaluation LM theirs", said, "mend the package", kind=LMError):
        compute_checked_span_logprobs(Foreign(returned), ASKED)


@pytest.mark.parametrize(
    "fields",
    [
        {"logprobs": None}, {"logprobs": "ab"}, {"logprobs": ("a", "b")}, {"logprobs": (-1.0, None)}, {"total": None},
        {"total": "-3"}, {"ids": None}, {"ids": ("a", "b")}, {"ids": 2}, {"logprobs": numpy.array([-1.0, -2.0])},
    ],
)  # fmt: skip
def test_a_result_whose_fields_are_no_numbers_is_a_fault_of_the_lm_in_its_place(fields):
    broken, sound = compute_checked_span_logprobs(Foreign([replace(SOUND, **fields), SOUND]), ASKED)
    assert isinstance(broken, SpanError) and (broken.code, broken.broken) == ("no_numbers", True)
    assert sound is SOUND


def test_numbers_of_other_libraries_count_and_an_error_that_the_lm_states_stays_as_it_is():
    numbers = SpanLogprob(numpy.float64(-3.0), (numpy.int64(1), 2), (numpy.float32(-1.0), -2))
    assert compute_checked_span_logprobs(Foreign((numbers, SOUND)), ASKED) == [numbers, SOUND]
    with pytest.raises(LMError, match="^the server is gone$"):
        compute_checked_span_logprobs(Foreign(LMError("the server is gone")), ASKED)


@pytest.mark.parametrize(
    ("opener", "said"),
    [
        (lambda _: None, "it is a NoneType"),
        (lambda _: object(), "it is a object"),
        (lambda _: {}["weights"], "KeyError: 'weights'"),
        (lambda: Foreign([]), "TypeError"),
        (lambda _: type("Nameless", (), {"logprob": lambda *_: []})(), "AttributeError"),
        (lambda _: type("Named", (Foreign,), {"identity": "theirs"})([]), "it is a Named"),
        (lambda _: type("Numbered", (Foreign,), {"identity": LMIdentity("theirs", "none", 1)})([]), "it is a Numbered"),
    ],
)
def test_an_entry_point_that_opens_no_evaluation_lm_is_named_in_one_line(opener, said, monkeypatch):
    monkeypatch.setitem(vars(opening.BACKENDS), "added", {"theirs": opener})
    opening.open_cached_lm.cache_clear()
    with one_line("evaluation LM theirs cannot be opened", said, "mend the package", kind=LMError):
        opening.open_lm(EvaluationLMSettings(backend="theirs"))
