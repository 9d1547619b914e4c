"""The study of examiners from end to end, against a scripted server over real HTTP: what it is known to say comes back."""

from __future__ import annotations

import csv
import json
import math
import re
from functools import partial
from pathlib import Path

import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr
from typer.testing import CliRunner

from gre_bench.cli.app import app
from gre_bench.core import settings
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import LMIdentity, SpanLogprob
from gre_bench.core.resources import locate_resource
from gre_bench.examiners.rater_results import LAYOUTS
from gre_bench.flows.examiner_study import examiner_study
from gre_bench.ingest.datasets.rated import read_graded_summaries
from gre_bench.pipeline.importing import import_graded_reviews
from gre_bench.pipeline.runs.job import record_run
from gre_bench.store import Store
from gre_bench.studies.examiners.comparison import compare
from gre_bench.studies.examiners.inputs import build_examiner_grid, load_study, parse_study
from gre_bench.studies.examiners.study import ExaminerJob, estimate_study_cost
from tests.conftest import ROOT, real
from tests.flows.refreshing import use
from tests.servers.chat import MODEL, scripted_chat
from tests.servers.scripted_examiner import chooser_writer, examiner, logprobs_of
from tests.studies.asking import models_file

HUMAN = [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 1.25, 2.25, 4.25]
"""Human scores, three texts a source, by players M0, M1 and M2."""


def quality(human):
    """A human score as the quality that the scripted examiner reads in the text."""
    return (human - 1) / 4


def table(folder, rows=None, name="texts.tsv"):
    """A file of texts whose stated quality is the human score, unless *rows* (quality, human) say otherwise."""
    lines = ["SRC\tHYP\tScore\tmodel_id\tid"]
    for place, (given, human) in enumerate(rows or [(quality(human), human) for human in HUMAN]):
        words = "so " * (place % 5)
        lines.append(
            f'Source "{place // 3}\tA text {words}of quality {given:.4f}.\t{human}\tM{place % 3}\tdoc{place // 3}'
        )
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def job_in(folder, server, examiners=None, rows=None, name="study", **more):
    """A study of *examiners* (by name) on the texts of `table`, asking the server."""
    tree = {
        "models": ["scripted"], "models_file": str(models_file(folder, server)), "resamples": 200,
        "baselines": ["length"], "examiners": examiners or {},
    } | more  # fmt: skip
    return ExaminerJob(name, parse_study(tree), table(folder, rows), state=folder / "state")


@pytest.fixture
def job(tmp_path):
    return partial(job_in, tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study of own examiners and of three tables: its job and its summary."""
    own = {
        "mine": {"template": "base"}, "fine": {"template": "base", "granularity": "fine"},
        "binned": {"template": "human_test", "granularity": "fine", "binning": {"bins": 4}},
        "ht": {"template": "human"}, "mt": {"template": "human", "criteria": "mt"},
    }  # fmt: skip
    with scripted_chat(write=examiner()) as server:
        layouts = ["001_table8", "003_table8", "003_table9"]
        asked = job_in(tmp_path_factory.mktemp("examiners"), server, own, layouts=layouts)
        return asked, run(asked)


def command(asked, folder):
    return ["study", "examiners", "compare", *f"--items {asked.items} --settings {folder / 'study.toml'}".split(),
            *f"--model scripted --models-file {folder / 'models.toml'} --state {asked.state} --no-prefect".split()]  # fmt: skip


def run(asked):
    return compare(asked)


def found(summary):
    return {row["name"]: row for row in summary["outcomes"]}


def grades(asked):
    with (asked.state / "studies" / "examiners" / asked.name / "grades.csv").open() as lines:
        return list(csv.DictReader(lines))


def cells(line):
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_known_scores_come_back_as_known_taus(whole):
    assert whole[1]["outcome"] == "done"
    rows = found(whole[1])
    assert [rows[name]["kendall"]["value"] for name in ("mine", "fine")] == pytest.approx([1, 1])
    assert rows["mine"]["spearman"]["value"] == pytest.approx(1)
    # Binning shows how many scores there were before.
    assert (rows["binned"]["before"], rows["binned"]["after"]) == (12, 4)
    assert any("12 → 4" in row for row in whole[1]["tables"][0]["rows"])
    # Two examiners that differ in one word of their prompt have different signatures.
    one, other = (whole[1]["signatures"][f"{name} · scripted"] for name in ("ht", "mt"))
    assert one["signature"] != other["signature"] and one["name"] == other["name"] == f"scripted@{MODEL}"


def test_every_coefficient_is_that_of_scipy_on_the_grades_that_are_kept_and_differences_are_theirs(job):
    noisy = [(quality(HUMAN[(7 * place) % 12]), human) for place, human in enumerate(HUMAN)]
    with scripted_chat(write=examiner()) as server:
        asked = job(server, {"five": {"template": "human"}, "p5": {"template": "p5"}, "p7": {"template": "p7"}}, noisy)
        summary = run(asked)
    rows = grades(asked)
    assert {row["state"] for row in rows} == {"scored"}
    for name, outcome in found(summary).items():
        mine = [(float(row["grade"]), float(row["human"])) for row in rows if row["examiner"] == name]
        assert len(mine) == len(HUMAN)
        for kind, test in (("kendall", kendalltau), ("spearman", spearmanr), ("pearson", pearsonr)):
            assert outcome[kind]["value"] == pytest.approx(test(*zip(*mine, strict=True)).statistic)
            assert outcome[kind]["flat_p"] == pytest.approx(test(*zip(*mine, strict=True)).pvalue)
            assert outcome[kind]["low"] <= outcome[kind]["value"] <= outcome[kind]["high"]
        scores = [score for score, _ in mine]
        pairs = [(a, b) for place, a in enumerate(scores) for b in scores[:place]]
        assert outcome["tied"] == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
        assert outcome["after"] == len(set(scores))
    assert found(summary)["five"]["tied"] > found(summary)["p5"]["tied"] >= 0
    # Differences are to the best examiner and to length.
    taus = {name: row["kendall"]["value"] for name, row in found(summary).items()}
    best = max(("five", "p5", "p7"), key=taus.__getitem__)
    differences = {(row["family"], row["first"].partition(" · ")[0]): row for row in summary["differences"]}
    assert set(differences) == {("best", name) for name in taus if name != best} | {
        ("length", name) for name in taus if name != "length"
    }
    for (family, name), row in differences.items():
        other = best if family == "best" else "length"
        assert row["difference"] == pytest.approx(taus[name] - taus[other]) and row["p_holm"] >= row["p"]


def test_a_text_that_cannot_be_graded_is_counted_with_its_reason(job):
    def at_times(body):
        manner = "refusing" if "quality 0.0000" in body["messages"][-1]["content"] else "exact"
        return examiner(manner)(body)

    with scripted_chat(write=at_times) as server:
        rows = [(quality(human), "" if place == 4 else human) for place, human in enumerate(HUMAN)]
        asked = job(server, {"base": {"template": "base"}}, rows)
        summary = run(asked)
        assert server.count == 10 + 3, "a text without a human score was asked about"
    outcome = found(summary)["base"]
    assert (outcome["scored"], outcome["failed"], outcome["replies"], outcome["unparsable"]) == (10, 1, 13, 3)
    assert outcome["reasons"] == {"unparsable": 1, "no_human_score": 1}
    assert all((row["planned"], row["excluded"]) == (12, 1) for row in summary["outcomes"])
    [row] = [row for row in grades(asked) if row["state"] == "failed"]
    assert row["item_id"] == "doc0:M0" and row["grade"] == "" and "no_score" in row["reason"]
    assert [row["reason"] for row in grades(asked) if row["state"] == "excluded"] == ["no_human_score"] * 2
    assert set(summary["lacking"]) >= {"base · scripted: unparsable (1)", "base · scripted: no_human_score (1)"}


def test_probabilities_come_from_the_endpoint_with_their_mass(job):
    logprobs = logprobs_of({"1": 0.1, "2": 0.2, "3": 0.3, "4": 0.2, "5": 0.1, "maybe": 0.1})
    with scripted_chat(write=lambda body: "3", logprobs=logprobs) as server:
        asked = job(server, {"weighed": {"template": "human", "aggregation": "logprob"}})
        summary = run(asked)
    assert found(summary)["weighed"]["mass"] == pytest.approx(0.9)
    assert {row["grade"] for row in grades(asked) if row["examiner"] == "weighed"} == {"3.0"}
    assert "do not vary" in found(summary)["weighed"]["problem"]


class Weigher:
    """An evaluation LM of chats: the nearer a score to the quality that the text states, the likelier."""

    identity = LMIdentity("scripted-weigher", "0" * 64, "scripted-1")
    reads_chats = True

    def logprob(self, predictions):
        totals = [
            -abs(float(chat.reply) - 1 - 4 * float(re.findall(r"quality ([\d.]+)\.", chat.user)[-1]))
            for chat in predictions
        ]
        return [SpanLogprob(total - 1.0, (0,), (total - 1.0,)) for total in totals]


def test_probabilities_come_from_an_evaluation_lm_where_the_settings_say_so(job):
    use(Weigher())
    with scripted_chat(write=examiner()) as server:
        trees = {
            "weighed": {"template": "human", "granularity": "fine", "aggregation": "logprob"},
            "told": {"template": "base"},
        }
        asked = job(server, trees, probabilities="evaluation_lm", evaluation_lm={"backend": "scripted"})
        summary = run(asked)
        assert server.count == 12
    assert found(summary)["weighed"]["by"] == "scripted-weigher" and found(summary)["told"]["by"] == "scripted"
    assert found(summary)["weighed"]["kendall"]["value"] == pytest.approx(1)
    [middle] = [float(row["grade"]) for row in grades(asked) if row["examiner"] == "weighed" and row["human"] == "2.0"]
    weights = [math.exp(-abs(score - 2)) for score in range(1, 6)]
    assert middle == pytest.approx(sum(score * weight for score, weight in enumerate(weights, 1)) / sum(weights))


def test_the_tables_have_the_layout_of_the_papers_with_their_values_beside(whole):
    asked, summary = whole
    lines = (asked.state / "studies" / "examiners" / "study" / "tables.md").read_text().splitlines()
    start = lines.index("## Kim et al. 2023, Table 8: Evaluation steps")
    assert cells(lines[start + 2]) == ["Template", "Steps", "scripted", "Orca-7B (published)", "Orca-13B (published)"]
    rows = {tuple(cells(line)[:2]): cells(line)[2:] for line in lines[start + 4 : start + 8]}
    assert rows["Human", "Complex"][1:] == ["0.2969", "0.4027"]
    tau = found(summary)["human-fine-steps_complex"]["kendall"]
    assert rows["Human", "Complex"][0] == f"{tau['value']:.4f} ({tau['low']:.3f}, {tau['high']:.3f})"
    start = lines.index("## Kotonya et al. 2023, Table 8: Prompts and approaches")
    rows = {cells(line)[0]: cells(line)[2:] for line in lines[start + 4 : start + 18]}
    assert rows["P12"][1] == "0.2837" and rows["P5"][0].startswith("1.0000 (")
    # Direct Assessment asks what the examiner of one's own asks: it is one examiner, asked once.
    assert summary["rows"]["003_table8"]["Baseline | Direct Assessment"] == "mine"
    start = lines.index("## Kotonya et al. 2023, Table 9: Score ranges")
    assert cells(lines[start + 4])[:2] == ["P1", "9 of 1 to 5"] and cells(lines[start + 4])[3] == "0.32"


def test_the_folder_of_a_model_is_a_path_beside_the_settings_or_a_pretrained_model_s_name(tmp_path):
    file = tmp_path / "study.toml"
    text = 'models_file = "my.toml"\n[embedder]\nbackend = "sentence-transformers"\nfolder = "{}"\n'
    for folder, expected in (("minilm-l6-v2", Path("minilm-l6-v2")), ("mine", tmp_path / "mine")):
        file.write_text(text.format(folder))
        found = load_study(file)
        assert (found.embedder.folder, found.models_file) == (expected, tmp_path / "my.toml")


def test_the_shipped_settings_have_every_row_of_every_table():
    shipped = load_study(ROOT / "deployments" / "examiners.toml")
    assert set(shipped.layouts) == set(LAYOUTS)
    found = build_examiner_grid(shipped, "summary", dict.fromkeys(shipped.generated, "Read the text."))
    printed = {name: set(one.rows) for name, one in LAYOUTS.items()}
    assert {name: set(rows) for name, rows in found.rows.items()} == printed
    assert all(name in found.examiners for rows in found.rows.values() for name in rows.values())
    of_reviews = build_examiner_grid(shipped, "review", dict.fromkeys(shipped.generated, "Read the text."))
    assert {one.item for one in of_reviews.examiners.values()} == {"review"}
    used = {
        value
        for one in found.examiners.values()
        for value in (one.aggregation, one.demonstration, one.description, one.steps, one.chosen_criteria)
    }
    assert used >= {
        "direct", "logprob", "approximation", "base_worst", "base_best", "reason_worst", "reason_best", "expert",
        "short", "long", "complex", "ad", "ad_gpt", "ht", "ht_gpt", "mt", "mt_gpt",
    }  # fmt: skip
    assert {one.template for one in found.examiners.values()} >= {
        "base", "human", "model", "human_test", "rationale", "explanation", "random", "generated", "five_level",
        "hundred_level", *(f"p{n}" for n in range(1, 15)),
    }  # fmt: skip


def test_a_name_of_ones_own_takes_no_place_of_a_printed_row():
    own = {"human-fine": {"template": "p1"}, "p5-coarse": {"template": "p5"}}
    made = build_examiner_grid(parse_study({"layouts": ["001_table8", "003_table8"], "examiners": own}), "summary", {})
    printed = made.rows["001_table8"]["Human | Base"]
    assert printed.startswith("human-fine#") and made.examiners[printed].template == "human"
    assert made.examiners["human-fine"].template == "p1"
    assert made.rows["003_table8"]["P5 | (1) Standard Prompt (7) Zero-shot"] == "p5-coarse"


def test_the_panel_is_examined_on_other_texts_than_it_decides_upon(job):
    with scripted_chat(write=examiner()) as server:
        panel = {"human": [1, 5], "questions": 6, "second": {"five": "hundred"}, "rules": ["uniform", "exp"]}
        asked = job(server, {"five": {"template": "five_level"}, "hundred": {"template": "base"}}, panel=panel)
        summary = run(asked)
    rows = grades(asked)
    exams = {row["examiner"]: row for row in summary["panel"]["exams"]}
    chair = "panel of 2, uniform weights"
    kept = {row["item_id"] for row in rows if row["examiner"] == chair and row["state"] == "scored"}
    questions = {row["item_id"] for row in rows if row["reason"] == "exam_question"}
    assert len(kept) == len(questions) == 6 and not kept & questions
    assert not {name.split(":")[0] for name in kept} & {name.split(":")[0] for name in questions}
    given = {(row["examiner"], row["item_id"]): float(row["grade"]) for row in rows if row["grade"]}
    human = {row["item_id"]: float(row["human"]) for row in rows}
    for name, low, high in (("five", 1, 5), ("hundred", 0, 100)):
        squares = [((given[name, item] - low) / (high - low) - quality(human[item])) ** 2 for item in questions]
        assert exams[f"{name} · scripted"]["reference"] == pytest.approx(1 - sum(squares) / 6)
    both = [((given["five", item] - 1) / 4 - given["hundred", item] / 100) ** 2 for item in questions]
    assert exams["five · scripted"]["consistency"] == pytest.approx(1 - sum(both) / 6)
    for item in kept:
        mean = ((given["five", item] - 1) / 4 + given["hundred", item] / 100) / 2
        assert given[chair, item] == pytest.approx(mean)
    assert found(summary)[chair]["excluded"] == 6


def test_a_panel_nobody_qualifies_for_says_so_and_the_study_goes_on(job):
    with scripted_chat(write=examiner(quality=lambda prompt: 0.0)) as server:
        panel = {"human": [1, 5], "questions": 6, "threshold": 0.99, "rules": ["uniform"]}
        summary = run(job(server, {"base": {"template": "base"}}, panel=panel))
    row = found(summary)["panel of 0, uniform weights"]
    assert (summary["outcome"], row["scored"], row["failed"], row["excluded"], row["reasons"]["no_panel"]) == (
        "done", 0, 6, 6, 6,
    )  # fmt: skip


@pytest.mark.parametrize(("bias", "accuracy", "always_first"), [(0.0, 1.0, 0), (1.01, 0.0, 12)])
def test_pairs_are_asked_both_ways_and_show_who_goes_by_the_place(job, bias, accuracy, always_first):
    with scripted_chat(write=chooser_writer(bias)) as server:
        summary = run(job(server, pairwise={"orders": 20}, panel={"human": [1, 5], "questions": 6}))
        assert server.count == 2 * 12
    reports = {report["name"]: report for report in summary["pairs"]}
    report = reports["scripted"]
    position, passed = report["position"], report["exam"]["passed"]
    assert (report["accuracy"], position["always_first"], passed) == (accuracy, always_first, accuracy == 1)
    # Within a source the human score rises with the player's number; in the last source too.
    assert [row["player"] for row in reports["humans"]["elo"]] == ["M2", "M1", "M0"]
    if accuracy:
        assert report["elo"] == reports["humans"]["elo"]
        assert reports["panel of 1, uniform weights"]["games"] == 6
        assert "never lost to any of M0" in report["problem"]
    else:
        assert {row["value"] for row in report["bradley_terry"]} == {0.0}
        assert "no examiner passed" in reports["panel, uniform weights"]["problem"]


def test_instructions_that_an_lm_writes_become_an_examiner_or_a_reason(job):
    def author(body):
        prompt = body["messages"][-1]["content"]
        if prompt.startswith("Write a set of instructions"):
            return '"1. Read.\n2. Give each of the following aspects a score from 1 to 5: coherence, consistency, fluency, relevance."'
        if prompt.startswith("Rewrite"):
            return "1. Read.\n3. Score."
        return examiner()(body)

    bad = {"model": "scripted", "instructions": "1. Read.", "phrase": "rewrite"}
    with scripted_chat(write=author) as server:
        summary = run(job(server, generated={"good": {"model": "scripted"}, "bad": bad}))
        assert sum("Read.\n3." in str(body) for body in server.requests) == 0
    assert summary["instructions"]["good"].startswith("1. Read.\n2. Give")
    assert found(summary)["good"]["kendall"]["value"] > 0.85
    assert (found(summary)["bad"]["failed"], found(summary)["bad"]["reasons"]) == (12, {"instructions_unparsable": 12})


def test_rationales_are_written_to_a_sheet_whose_shares_stand_beside_table_9(job, tmp_path):
    with scripted_chat(write=examiner("reasons")) as server:
        asked = job(server, {"why": {"template": "rationale"}}, rationales=5)
        run(asked)
    sheet = asked.state / "studies" / "examiners" / "study" / "rationales-why-scripted.csv"
    rows = list(csv.DictReader(sheet.open()))
    assert len(rows) == 5 and rows[0]["hallucination"] == ""
    assert rows[0]["rationale"] == "It names 2 of the 3 main points."
    shown = CliRunner().invoke(app, ["study", "examiners", "errors", f"mine={sheet}"])
    assert "row 1 of the sheet: write yes or no into column inconsistent" in str(shown.exception)
    for place, row in enumerate(rows):
        marks = {"inconsistent": False, "hallucination": place < 2, "different_aspect": place == 0}
        row |= {error: "yes" if mark else "no" for error, mark in marks.items()}
    with sheet.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    shown = CliRunner().invoke(app, ["study", "examiners", "errors", f"mine={sheet}"])
    table = {line.split()[1]: line.split()[-3:] for line in shown.output.splitlines() if re.match(r" +\d ", line)}
    assert shown.exit_code == 0
    assert table == {
        "Good": ["60", "50", "69"], "Inconsistent": ["0", "11", "17"], "Hallucination": ["40", "36", "6"],
        "Different": ["20", "6", "8"],
    }  # fmt: skip


def test_graded_reviews_of_an_edition_are_texts_too(job, tmp_path):
    key, tree = "PROPOSALS-2026", {"edition": {"venue": "PROPOSALS", "year": 2026, "domain": "proposals"}}
    store = Store(tmp_path / "state", key)
    with (
        store.lock("import"),
        record_run(store, "import", settings.load_recorded_settings(tree), shown=False) as progress,
    ):
        file = locate_resource("data", "sample_proposals", "proposals.jsonl")
        import_graded_reviews(store, progress.run_id, file, "proposals", None, None)
        progress.end("done")
    with scripted_chat(write=examiner(quality=lambda prompt: len(prompt) % 50 / 50)) as server:
        asked = job(server, {"base": {"template": "base"}})
        asked = ExaminerJob(key, asked.settings, None, key, state=asked.state)
        summary = run(asked)
        assert all("eview" in body["messages"][-1]["content"] for body in server.requests)
    outcome = found(summary)["base"]
    assert outcome["scored"] == outcome["planned"] - outcome["excluded"] > 10
    assert outcome["groups"] == summary["sources"]
    assert {row["state"] for row in grades(asked)} <= {"scored", "excluded"}


@pytest.mark.parametrize(("change", "why"), [
    ({"models": []}, "the examiners need an LM to ask"),
    ({"models": ["nope"]}, "no model 'nope' in the models file; known: scripted"),
    ({"layouts": ["001_table3"]}, "no layout of a table 001_table3"),
    ({"examiners": {"odd": {"template": "p1", "granularity": "fine"}}}, "examiners.odd: p?.*coarse only"),
    ({"examiners": {"odd": {"template": "base", "item": "review"}}}, "examiners.odd: item = review, and the items are"),
    ({"item": "review"}, "item = review, and the texts are of kind summary"),
    ({"panel": {"human": [1, 5], "examiners": ["nope"]}}, "panel: no examiner nope; there are: base"),
    ({"panel": {"human": [1, 5], "second": {"base": "five"}, "measure": "exact"},
      "examiners": {"base": {"template": "base"}, "five": {"template": "human"}}}, "different scales"),
    ({"panel": {"human": [1, 5], "questions": 12}}, "12 questions leave none of 12 texts"),
    ({"panel": {"human": [1, 4], "questions": 4}}, r"panel.human = \[1, 4\], and the human score of"),
])  # fmt: skip
def test_what_cannot_be_asked_says_so_in_one_line(job, change, why):
    with scripted_chat(write=examiner()) as server:
        with pytest.raises(SettingsError, match=why) as error:
            run(job(server, **({"examiners": {"base": {"template": "base"}}} | change)))
        assert "\n" not in str(error.value)
        assert server.count == 0 or "questions" in why or "panel.human" in why


@pytest.mark.parametrize(("text", "why"), [
    ("SRC\tHYP\na\tb\n", "no column Score; needed: SRC, HYP, Score; texts without a human score"),
    ("SRC\tHYP\tScore\n", "has columns and no row"),
    ("SRC\tHYP\tScore\na\tb\tgood\n", "row 1: Score 'good' is not a number"),
    ("SRC\tHYP\tScore\na\tb\tnan\n", "row 1: Score 'nan' is not a number"),
    ("SRC\tHYP\tScore\na\tb\t1\na\tb\n", "row 2: it has 2 cells, and the heading has 3"),
])  # fmt: skip
def test_a_file_that_is_none_is_refused_with_the_row(tmp_path, text, why):
    (tmp_path / "texts.tsv").write_text(text)
    with pytest.raises(SourceError, match=why):
        read_graded_summaries(tmp_path / "texts.tsv")


def test_quotation_marks_are_text_in_a_tsv_file_and_quote_in_a_csv_file(tmp_path):
    found = read_graded_summaries(table(tmp_path))
    assert (found[0].source, found[0].item_id) == ('Source "0', "doc0:M0")
    assert len({text.item_id for text in found}) == 12
    (tmp_path / "texts.csv").write_text('SRC,HYP,Score\n"A, b",c,3\n"A, b",d,\n')
    one, other = read_graded_summaries(tmp_path / "texts.csv")
    assert (one.source, one.group, one.human) == ("A, b", other.group, 3.0) and other.human is None
    assert (one.item_id, other.item_id) == (one.group, f"{one.group}:2")


def test_an_estimate_counts_the_requests_that_are_then_made_and_money_is_that_of_the_tokens_stated(job):
    with scripted_chat(write=examiner()) as server:
        fine = {"template": "human", "granularity": "fine"}
        some = {"template": "base", "aggregation": "approximation", "samples": 3}
        asked = job(server, {"fine": fine, "some": some})
        [row] = estimate_study_cost(asked)["models"]
        assert server.count == 0
        outcomes = run(asked)["outcomes"]
        assert server.count == row["requests"] == 12 * 4 + 12 * 3
        prompt = sum(sum(len(message["content"]) for message in body["messages"]) // 4 for body in server.requests)
    assert sum(one["prompt_tokens"] for one in outcomes) == prompt == pytest.approx(row["prompt_tokens"], rel=0.01)
    for one in outcomes:
        assert one["usd"] == pytest.approx((one["prompt_tokens"] * 1.0 + one["reply_tokens"] * 2.0) / 1e6)


@pytest.mark.night
def test_the_flow_runs_under_the_prefect_engine(job):
    with scripted_chat(write=examiner()) as server:
        summary = examiner_study(job(server, {"base": {"template": "base"}}))
        assert (summary["outcome"], server.count) == ("done", 12)


def test_the_command_ends_with_a_code_that_says_how_it_went_and_no_text_is_graded_twice(job, tmp_path):
    settings_text = 'resamples = 200\nbaselines = ["length"]\n[examiners.base]\ntemplate = "base"\n'
    (tmp_path / "study.toml").write_text(settings_text)
    ill = {"when": lambda body: "500" if "quality 0.0000" in body["messages"][-1]["content"] else None}
    with scripted_chat(write=examiner(), **ill) as server:
        asked = command(job(server), tmp_path)
        shown = CliRunner().invoke(app, asked)
        assert shown.exit_code == 3 and "1 grade still missing" in shown.output
        server.when, before = None, server.count
        shown = CliRunner().invoke(app, [*asked, "--json"])
        assert shown.exit_code == 0 and found(json.loads(shown.stdout))["base"]["scored"] == 12
        assert server.count - before == 1
        (tmp_path / "study.toml").write_text(settings_text + '[examiners.p1]\ntemplate = "p1"\n')
        assert CliRunner().invoke(app, asked).exit_code == 0
        assert server.count - before == 1 + 12, "a further examiner pays for itself only"
        shown = CliRunner().invoke(app, [*asked, "--layout", "003_table9", "--dry-run"])
        assert shown.exit_code == 0 and "scripted: 60 requests" in shown.output
        table(tmp_path, [(0.5, 3.0)] * 6)
        shown = CliRunner().invoke(app, asked)
        assert "was made of other texts; choose another name" in str(shown.exception)
    wrong = f"study examiners compare --settings {tmp_path / 'nope.toml'} --items x.tsv"
    assert isinstance(CliRunner().invoke(app, wrong.split()).exception, SettingsError)


@pytest.mark.shared
def test_metrics_without_an_lm_have_their_real_taus_on_the_shared_task(tmp_path):
    summaries = real("summarization-eval4nlp", "train_summarization.tsv")
    asked = ExaminerJob("real", parse_study({"resamples": 200}), summaries, state=tmp_path)
    summary = run(asked)
    assert (summary["texts"], summary["sources"]) == (320, 97)
    taus = {name: row["kendall"]["value"] for name, row in found(summary).items()}
    assert taus == pytest.approx({"length": 0.080, "rouge_l": 0.164, "bertscore": 0.268}, abs=5e-4)
    texts = read_graded_summaries(summaries)
    assert taus["length"] == pytest.approx(
        kendalltau([len(text.text.split()) for text in texts], [text.human for text in texts]).statistic
    )
