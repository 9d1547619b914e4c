"""The steps of a run (`gre_bench.tasks.protocol.Steps`), with Prefect and without. Both give the same results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from gre_bench.tasks import examine, fetch, read, release, score, tune, write

if TYPE_CHECKING:
    from prefect import Task

P = ParamSpec("P")
R = TypeVar("R")


def plain(step: Task[P, R]) -> Callable[P, R]:
    """Returns the plain function that the Prefect task *step* wraps, or *step* itself if it is a plain function."""
    return getattr(step, "fn", step)


class UnderPrefect:
    """The steps as Prefect tasks. Tasks have retries and time limits, and Prefect's server shows them."""

    fetch_notes = staticmethod(fetch.fetch_notes)
    fetch_papers = staticmethod(fetch.fetch_papers)
    seal_snapshot = staticmethod(fetch.seal_snapshot)
    read_papers = staticmethod(read.read_papers)
    writer_identity = staticmethod(write.writer_identity)
    reviewers_among = staticmethod(write.reviewers_among)
    write_reviews = staticmethod(write.write_reviews)
    change_identity = staticmethod(write.change_identity)
    write_changes = staticmethod(write.write_changes)
    write_judgments = staticmethod(write.write_judgments)
    write_assw = staticmethod(write.write_assw)
    rate_papers = staticmethod(examine.rate_papers)
    judge_reviews = staticmethod(examine.judge_reviews)
    generate_guideline = staticmethod(examine.generate_guideline)
    grade_items = staticmethod(examine.grade_items)
    prefer_pairs = staticmethod(examine.prefer_pairs)
    write_instructions = staticmethod(examine.write_instructions)
    sign_metrics = staticmethod(score.sign_metrics)
    score_papers = staticmethod(score.score_papers)
    show_leaderboard = staticmethod(release.show_leaderboard)
    show_history = staticmethod(release.show_history)
    train_cache_ngram = staticmethod(tune.train_cache_ngram)
    fine_tune_lm = staticmethod(tune.fine_tune_lm)


class Undecorated:
    """The steps as plain functions, without Prefect's engine, server and artifacts."""

    fetch_notes = staticmethod(plain(fetch.fetch_notes))
    fetch_papers = staticmethod(plain(fetch.fetch_papers))
    seal_snapshot = staticmethod(plain(fetch.seal_snapshot))
    read_papers = staticmethod(plain(read.read_papers))
    writer_identity = staticmethod(write.writer_identity)
    reviewers_among = staticmethod(write.reviewers_among)
    write_reviews = staticmethod(plain(write.write_reviews))
    change_identity = staticmethod(write.change_identity)
    write_changes = staticmethod(plain(write.write_changes))
    write_judgments = staticmethod(plain(write.write_judgments))
    write_assw = staticmethod(plain(write.write_assw))
    rate_papers = staticmethod(plain(examine.rate_papers))
    judge_reviews = staticmethod(plain(examine.judge_reviews))
    generate_guideline = staticmethod(plain(examine.generate_guideline))
    grade_items = staticmethod(plain(examine.grade_items))
    prefer_pairs = staticmethod(plain(examine.prefer_pairs))
    write_instructions = staticmethod(plain(examine.write_instructions))
    sign_metrics = staticmethod(plain(score.sign_metrics))
    score_papers = staticmethod(plain(score.score_papers))
    train_cache_ngram = staticmethod(plain(tune.train_cache_ngram))
    fine_tune_lm = staticmethod(plain(tune.fine_tune_lm))

    @staticmethod
    def show_leaderboard(edition: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Does nothing, because artifacts need Prefect."""

    @staticmethod
    def show_history(venue: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Does nothing, because artifacts need Prefect."""


def under_prefect() -> UnderPrefect:
    """Returns the steps as Prefect tasks."""
    return UnderPrefect()


def undecorated() -> Undecorated:
    """Returns the steps of a run as plain functions, without Prefect."""
    return Undecorated()
