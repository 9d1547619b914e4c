"""Prints a table of docs/iclr2022.md from the release that comes with the program.

    python -m tests.bench.iclr2022_table TABLE [EVALUATION_LM]

TABLE: reviewers, quis, facts, contrasts, at-length, stability; or questions or orders, by both evaluation LMs; or chance
or committee, which only the default LM has, `cache-ngram-3`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from gre_bench.board.committee_curve import read_scores_by_committee_size
from gre_bench.board.words import format_p_value
from gre_bench.core.metrics import ALPHA, find_recipe
from gre_bench.core.resources import locate_resource
from gre_bench.ranking.rank_statistics import ScoredPairs
from gre_bench.release.loading import find_release, load_release
from gre_bench.reports.contrasts import compare_lms, compute_contrasts_of_file, load_score_columns
from gre_bench.store import INCLUDED_EDITION, Store
from gre_bench.store.queries import BOARD_PAIRS, LEADERBOARD, PLANNED_SIGNATURES, SEPARATION, SignatureRow
from tests.bench import chance_terms

METRICS = {"cache-ngram-3": ("gem", "gem_s_abstract"), "gem-smollm2-2": ("gem_s_abstract",)}
"""Evaluation LM → the metrics that it scored; the second LM without chance scores."""
LMS = tuple(METRICS)
BOTH = METRICS[LMS[1]]
"""The metrics that both evaluation LMs scored."""
CONTRASTS = locate_resource("deployments", "contrasts", "iclr2022.toml")
SPLITS = 200


def signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def format_half_interval(row: dict[str, Any], name: str) -> str:
    """Returns a value of *row* with half of its 90% interval, as text."""
    value, high = row[name], row["high" if name == "score" else f"{name}_high"]
    return "" if value is None or high is None or high == value else f"{signed(value, 1)} ±{high - value:.1f}"


def signatures_of(store: Store, lm: str) -> list[SignatureRow]:
    """Returns the signatures of the metrics that the evaluation LM *lm* scored."""
    rows = {row["metric"]: row for row in store.read(PLANNED_SIGNATURES) if row["evaluation_lm"] == lm}
    return [rows[metric] for metric in METRICS[lm]]


def reviewers(store: Store, lm: str, group: str | None) -> Iterator[list[str]]:
    """Yields the rows of the board's *group* in the order by GEM-S: scores, and above chance for the main group."""
    signatures = {row["metric"]: row["signature_id"] for row in signatures_of(store, lm)}
    rows = store.read(LEADERBOARD, signature_ids=list(signatures.values()))
    by = {(row["signature_id"], row["candidate"]): row for row in rows}
    own = [row for row in rows if row["signature_id"] == signatures["gem_s_abstract"] and row["group_name"] == group]
    parts = ("score", "above_chance") if group is None and lm == LMS[0] else ("score",)
    titles = {"score": "{}", "above_chance": "above chance"}
    yield ["reviewer", *(titles[part].format(find_recipe(metric).title) for metric in METRICS[lm] for part in parts)]
    for row in sorted(own, key=lambda row: (row["kind"] == "control", -(row["score"] or 0))):
        cells = [by[signatures[metric], row["candidate"]] for metric in METRICS[lm]]
        yield [row["candidate"], *(format_half_interval(dict(cell), part) for cell in cells for part in parts)]


def interval(part: dict[str, Any] | None, value: str = "difference") -> str:
    return f"{signed(part[value])} ({signed(part['low'])}, {signed(part['high'])})" if part else ""


def contrasts(state: Path, lm: str, at_length: bool) -> Iterator[list[str]]:
    """Yields the rows of the contrasts under GEM-S (abstract): differences and their parts, or at equal length."""
    report = compute_contrasts_of_file(state, INCLUDED_EDITION, CONTRASTS)
    heads = ["one slope", "own slopes", "lengths overlap", "p of both"] if at_length else [
        "difference", "p", "detectable", "of it by chance", "above chance"]  # fmt: skip
    yield ["GEM-S (abstract)", *heads]
    for row in report["contrasts"]:
        if row["evaluation_lm"] != lm or row["metric"] != "gem_s_abstract":
            continue
        if at_length:
            part = row["at_length"]
            told = (part["why_not"] and "not told") or format_p_value(part["p_holm"])
            forms = (interval(part[name], "value") for name in ("common", "own"))
            yield [row["question"], *forms, f"{part['overlap']:.2f}", told]
        else:
            parts = interval(row["chance"]), interval(row["above_chance"])
            yield [row["question"], interval(row), format_p_value(row["p_holm"]), f"{row['detectable']:.2f}", *parts]


def questions(state: Path) -> Iterator[list[str]]:
    """Yields the rows of the contrasts under GEM-S (abstract) by each evaluation LM, with the board's p-values."""
    by: dict[str, dict[str, str]] = {}
    for row in compute_contrasts_of_file(state, INCLUDED_EDITION, CONTRASTS)["contrasts"]:
        if row["metric"] == "gem_s_abstract":
            told = f"{interval(row)}, p {format_p_value(row['p_holm'])}"
            by.setdefault(row["question"], {})[row["evaluation_lm"]] = told
    yield ["GEM-S (abstract)", *(f"`{lm}`" for lm in LMS)]
    yield from ([question, *(own[lm] for lm in LMS)] for question, own in by.items())


def orders(state: Path) -> Iterator[list[str]]:
    """Yields rows that compare the order of all candidates by two evaluation LMs, by the tests of their boards."""
    found = {row["metric"]: row for row in compare_lms(state, INCLUDED_EDITION, LMS, BOTH)["evaluation_lms"]}
    rows = [found[metric] for metric in BOTH]
    yield ["of ten candidates", *(find_recipe(metric).title for metric in BOTH)]
    rho = [(row["agreement"]["spearman"], row["agreement"]["low"], row["agreement"]["high"]) for row in rows]
    yield ["Spearman's ρ between the orders (90%)", *(f"{each:.2f} ({low:.2f}, {high:.2f})" for each, low, high in rho)]
    sure = {"both": "both", "only_first": f"`{LMS[0]}` only", "only_second": f"`{LMS[1]}` only", "neither": "neither"}
    number = sum(rows[0]["order"][key] for key in sure) + len(rows[0]["order"]["contradict"])
    for key, who in sure.items():
        yield [f"of {number} differences within groups, told by {who}", *(str(row["order"][key]) for row in rows)]
    yield ["told by both, and contradicting", *(str(len(row["order"]["contradict"])) for row in rows)]


def facts(store: Store, state: Path, lm: str) -> Iterator[list[str]]:
    """Yields rows on how much was scored, how well scores distinguish papers, and the significant contrasts."""
    signatures = signatures_of(store, lm)
    pairs = [store.read(BOARD_PAIRS, signature_id=row["signature_id"]) for row in signatures]
    ids = [row["signature_id"] for row in signatures]
    apart = {row["signature_id"]: row for row in store.read(SEPARATION, signature_ids=ids)}
    rows = [[row for row in compute_contrasts_of_file(state, INCLUDED_EDITION, CONTRASTS)["contrasts"]
             if row["signature_id"] == signature["signature_id"]] for signature in signatures]  # fmt: skip
    yield ["", *(find_recipe(row["metric"]).title for row in signatures)]
    yield ["scored pairs", *(str(len(each)) for each in pairs)]
    references = [len({(row["paper_id"], row["reference_id"]) for row in each}) for each in pairs]
    papers = [len({row["paper_id"] for row in each}) for each in pairs]
    yield ["references a paper", *(f"{own / of:.1f}" for own, of in zip(references, papers, strict=True))]
    found = [apart[row["signature_id"]] for row in signatures]
    yield ["AUC of human reviews against other papers' (95%)",
           *(f"{row['auc']:.3f} ({row['low']:.3f}, {row['high']:.3f})" for row in found)]  # fmt: skip
    yield [
        "contrasts with a corrected p below 0.05",
        *(str(sum(row["p_holm"] < ALPHA for row in each)) for each in rows),
    ]
    lengths = [[row["at_length"] for row in each if row["at_length"]] for each in rows]
    yield ["the same at equal length",
           *(str(sum(not row["why_not"] and row["p_holm"] < ALPHA for row in each)) for each in lengths)]  # fmt: skip


def compute_order_stability(store: Store, signature: SignatureRow) -> dict[str, dict[str, float]]:
    """Returns how stable the order of the ranked models is: Spearman's ρ between random halves, over 200 splits.

    *papers*: splits of the papers. *references*: splits of each paper's references into a random one and the others.
    Both have a mean and 5% and 95% quantiles.
    """
    names = chance_terms.models_of(store, signature)
    pairs = ScoredPairs(*load_score_columns(store, signature)).of_candidates(names)
    papers = sorted(set(pairs.papers))
    references = {paper: sorted({r for p, r in zip(pairs.papers, pairs.references, strict=True) if p == paper})
                  for paper in papers}  # fmt: skip
    counts = np.array([len(own) for own in references.values()])
    paper = np.array([papers.index(name) for name in pairs.papers])
    reference = np.array([references[p].index(r) for p, r in zip(pairs.papers, pairs.references, strict=True)])
    cell = np.array([names.index(name) for name in pairs.candidates]) * len(papers) + paper
    values = np.array(pairs.values)

    def compute_means(half: np.ndarray) -> np.ndarray:
        """Returns each candidate's mean over the pairs in *half* (NaN without pairs); all papers have equal weight."""
        sums, sizes = (np.bincount(cell[half], weights, len(names) * len(papers)) for weights in (values[half], None))
        with np.errstate(invalid="ignore"):
            by_paper = (sums / sizes).reshape(len(names), len(papers))
            known = ~np.isnan(by_paper)
            return by_paper.sum(axis=1, where=known) / known.sum(axis=1)

    random = np.random.default_rng(0)
    splits: dict[str, dict[str, float]] = {}
    for split in ("papers", "references"):
        if split == "references" and counts.min() < 2:
            continue
        rho = []
        for _ in range(SPLITS):
            chosen, drawn = random.permutation(papers)[: len(papers) // 2], random.integers(counts)
            first = np.isin(papers, chosen)[paper] if split == "papers" else drawn[paper] == reference
            x, y = compute_means(first), compute_means(~first)
            x, y = (rankdata(half[~np.isnan(x + y)]) for half in (x, y))
            if len(x) >= 3 and np.ptp(x) and np.ptp(y):  # the means in a half may all be equal
                rho.append(np.corrcoef(x, y)[0, 1])
        if rho:
            low, high = np.quantile(rho, [0.05, 0.95]).tolist()
            splits[split] = {"mean": float(np.mean(rho)), "low": low, "high": high}
    return splits


def stability(store: Store, lm: str) -> Iterator[list[str]]:
    """Yields Spearman's correlation of the models' order between two random halves, with its 90% quantiles."""
    found = [(row["metric"], compute_order_stability(store, row)) for row in signatures_of(store, lm)]
    yield ["Spearman's ρ between", *(find_recipe(metric).title for metric, _ in found)]
    titles = {"papers": "two halves of the papers", "references": "one reference of each paper and the others"}
    for split, title in titles.items():
        yield [
            title,
            *(f"{row[split]['mean']:.2f} ({row[split]['low']:.2f}, {row[split]['high']:.2f})" for _, row in found),
        ]


def committee(store: Store, lm: str) -> Iterator[list[str]]:
    """Yields the committee's curve under GEM-S (abstract), and which models joined on each half of the papers."""
    signature_id = signatures_of(store, lm)[-1]["signature_id"]
    curve = read_scores_by_committee_size(
        store.read, signature_id, store.read(LEADERBOARD, signature_ids=[signature_id])
    )
    assert curve, f"the release has no committee by {lm}"
    yield ["reviewers", "GEM-S (abstract), together", "chosen on one half", "on the other"]
    for step in curve["steps"]:
        value = f"{signed(step['value'], 1)} ±{step['high'] - step['value']:.1f}"
        yield [str(step["reviewers"]), value, *step["added"]]
    human = curve["human"]
    yield ["human, beyond all", f"{signed(human['value'], 1)} ±{human['high'] - human['value']:.1f}", "", ""]


def main() -> None:
    if len(sys.argv) not in (2, 3) or not {*sys.argv[2:]} <= METRICS.keys():
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        table, lm = (*sys.argv[1:], LMS[0])[:2]
        store = load_release(find_release(INCLUDED_EDITION), state)
        tables = {
            "reviewers": lambda: reviewers(store, lm, None), "quis": lambda: reviewers(store, lm, "quis"),
            "facts": lambda: facts(store, state, lm),
            "contrasts": lambda: contrasts(state, lm, False), "at-length": lambda: contrasts(state, lm, True),
            "chance": lambda: chance_terms.rows(store, lms=(lm,)), "stability": lambda: stability(store, lm),
            "committee": lambda: committee(store, lm),
            "questions": lambda: questions(state), "orders": lambda: orders(state),
        }  # fmt: skip
        if table not in tables:
            raise SystemExit(__doc__)
        head, *rows = tables[table]()
        for row in (head, ["---"] * len(head), *rows):
            print("|", " | ".join(row), "|")


if __name__ == "__main__":
    main()
