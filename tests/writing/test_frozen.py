"""Writers by rule make the same texts under the same name; a changed output needs a new one."""

from __future__ import annotations

import pytest

from gre_bench.perturbations import by_name as changes
from gre_bench.perturbations import edits
from gre_bench.writing.rules import extractive, judgments, synopsis, writer
from tests.writing import frozen
from tests.writing.frozen import COMMAND, CORPUS, corpus, digests, odd_review, problems, recorded


def test_no_writer_by_rule_has_changed_under_its_name():
    assert problems(digests(), recorded()) == []


def test_the_odd_reviews_are_of_many_forms_and_most_can_be_judged():
    odd = [odd_review(seed) for seed in range(frozen.ODD)]
    assert len(odd) == 300 and len(set(odd)) > 285
    judged = sum(bool(judgments.write_rule_judgments(text)) for text in odd)
    assert 200 < judged < 290


@pytest.fixture(scope="module")
def few():
    """A few texts of the corpus, and the digests of what the writers make of them."""
    texts = tuple(items[:12] + items[-12:] for items in corpus())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frozen, "corpus", lambda: texts)
        return texts, digests()


@pytest.mark.parametrize(("module", "function", "names"), [
    (judgments, "write_rule_judgments", {judgments.WRITER}), (synopsis, "extract_assw_sentences", {synopsis.WRITER}),
    (extractive, "write_extractive_review", {"extractive-full-1", "extractive-abstract-1"}),
    (writer, "rephrase_review", {*writer.REPHRASERS.values()}), (edits, "inject_instruction", {"injection-1"}),
])  # fmt: skip
def test_a_comma_more_is_a_change_of_that_writer_alone(few, monkeypatch, module, function, names):
    real = getattr(module, function)

    def changed(*given):
        made = real(*given)
        return f"{made}," if isinstance(made, str) else ([*made[0], ","], made[1])

    texts, before = few
    monkeypatch.setattr(frozen, "corpus", lambda: texts)
    monkeypatch.setattr(module, function, changed)
    monkeypatch.setitem(changes.PERTURBATIONS["injection"].rules, "review", edits.inject_instruction)
    found = digests()
    assert {name for name in found if found[name] != before[name]} == names


KNOWN = {CORPUS: "0", "rule-1": "a", "other-1": "b"}


@pytest.mark.parametrize(("found", "said", "written"), [
    (KNOWN, None, KNOWN),
    (KNOWN | {"rule-1": "c"},
     "the output of rule-1 has changed: mend it, if that was not meant; if it was, signatures need another", None),
    ({CORPUS: "0", "rule-2": "c", "other-1": "b"}, "rule-2 is not recorded", {"rule-2": "c", "other-1": "b"}),
    ({CORPUS: "0", "rule-2": "c", "other-1": "d"}, "the output of other-1 has changed", None),
    ({CORPUS: "1", "rule-1": "c", "other-1": "d"}, "the corpus has changed", {"rule-1": "c", "other-1": "d"}),
])  # fmt: skip
def test_a_new_name_gets_a_row_and_a_known_name_keeps_its_digest(tmp_path, monkeypatch, found, said, written):
    monkeypatch.setattr(frozen, "FILE", tmp_path / "frozen.toml")
    monkeypatch.setattr(frozen, "digests", lambda: KNOWN)
    frozen.main()
    monkeypatch.setattr(frozen, "digests", lambda: found)
    told = problems(found, recorded())
    assert [line.startswith(said) and COMMAND in line for line in told[:1]] == ([True] if said else [])
    if written is None:
        with pytest.raises(SystemExit, match=said):
            frozen.main()
        assert recorded() == KNOWN
    else:
        frozen.main()
        assert recorded() == {CORPUS: found[CORPUS], **written} and problems(found, recorded()) == []
