"""Measures pairs per second of the embedded evaluation LM, compared with a plain Python loop of the same results.

Run it as `python -m tests.bench.bench_cache_ngram [judgments.parquet]`. Without a file, it generates reviews of typical
length from the model's own vocabulary. A pair is one log P(reply | x); replies recur as in a real run.
"""

from __future__ import annotations

import math
import random
import sys
import time
from pathlib import Path

from gre_bench.core.records import Prediction
from gre_bench.lm.ngram.cache_ngram import FEATURES, CacheNgram
from gre_bench.lm.ngram.segmentation import is_word, split_into_tokens

FOLDER = Path(__file__).resolve().parents[2] / "data" / "evaluation_lm" / "cache-ngram-3"
PLAIN_PAIRS = 8


class Plain:
    """The same model computed token by token with dictionaries; spelling, form and features come from the model."""

    def __init__(self, model: CacheNgram):
        self.model, self.size = model, model.backoff.size
        self.ids = {word: number for number, word in enumerate(model.vocabulary)}
        self.unigram = model.backoff.unigram.tolist()
        self.kept, self.rest, self.followers = [], [], []
        for table in model.backoff.tables:
            self.kept.append(dict(zip(table.keys.tolist(), table.kept.tolist(), strict=True)))
            self.rest.append(dict(zip(table.contexts.tolist(), table.rest.tolist(), strict=True)))
            followers: dict[int, list[int]] = {}
            for key in table.keys.tolist():
                followers.setdefault(key // self.size, []).append(key % self.size)
            self.followers.append(followers)

    def trigram(self, word: int, before: int, earlier: int) -> float:
        chance = self.unigram[word]
        for order, context in enumerate((before, earlier * self.size + before)):
            chance = self.kept[order].get(context * self.size + word, 0.0) + self.rest[order].get(context, 1.0) * chance
        return chance

    def norm(self, factors: list[float], none: float, before: int, earlier: int) -> float:
        for order, context in enumerate((before, earlier * self.size + before)):
            kept = sum(
                self.kept[order][context * self.size + word] * factors[word]
                for word in self.followers[order].get(context, ())
            )
            none = kept + self.rest[order].get(context, 1.0) * none
        return none

    def weight(self, word: str) -> float:
        if not is_word(word):
            return 0.0
        known = self.model.known_text
        idf = known.idf[self.ids[word]] if word in self.ids else known.unseen_idf
        return float(idf) ** self.model.config["idf_exponent"]

    def logprob(self, x: str, text: str) -> float:
        model, reply = self.model, self.model.compute_reply_parts(text)
        rows = model.known_text.features(model.tokenize(x)).tolist()
        boosts = [model.config["boosts"][feature] for feature in FEATURES]
        factors = [
            math.exp(sum(value * boost for value, boost in zip(row, boosts, strict=True) if value)) for row in rows
        ]
        none = sum(chance * factor for chance, factor in zip(self.unigram, factors, strict=True))
        mu, known_weights = model.config["marginal_weights"], model.config["conditional_weights"]
        source, total = split_into_tokens(x).words[:-1], 0.0
        copies: dict[str, float] = {}
        for word in source:
            copies[word] = copies.get(word, 0.0) + self.weight(word)
        all_copies = sum(copies.values())
        follows = list(zip(["\n", *source], source, strict=False))
        words = split_into_tokens(text).words
        for place, word in enumerate(words):
            number, before = self.ids.get(word, 0), words[place - 1] if place else "\n"
            last, second = self.ids.get(before, 0), self.ids.get(words[place - 2] if place > 1 else "\n", 0)
            spelled, unknown = math.exp(reply.spelling[place]), self.trigram(0, last, second)
            whole = self.trigram(number, last, second) if number else 0.0
            plain = whole + unknown * spelled
            cache = sum(self.weight(one) for one in words[:place])
            history = sum(self.weight(one) for one in words[:place] if one == word) / cache if cache else plain
            after = [two for one, two in zip(["\n", *words[: place - 1]], words[:place], strict=False) if one == before]
            again = after.count(word) / len(after) if after else plain
            marginal = mu[0] * plain + mu[1] * history + mu[2] * again
            bent = (whole * factors[number] + unknown * factors[0] * spelled) / self.norm(factors, none, last, second)
            copied = copies.get(word, 0.0) / all_copies if all_copies else marginal
            after = [two for one, two in follows if one == before]
            followed = after.count(word) / len(after) if after else marginal
            chance = sum(
                weight * term for weight, term in zip(known_weights, (marginal, bent, copied, followed), strict=True)
            )
            total += math.log(chance) + reply.form[place]
        return total


def reviews(model: CacheNgram, papers: int) -> list[list[str]]:
    """Returns generated judgments of typical length, three per paper."""
    rng = random.Random(0)
    words = [word for word in model.vocabulary if word.isalpha()]
    return [
        [
            "\n\n".join("The reviewer appreciates " + " ".join(rng.choices(words, k=11)) + "." for _ in range(14))
            for _ in range(3)
        ]
        for _ in range(papers)
    ]


def read_judgments(path: str) -> list[list[str]]:
    """Returns the judgments of rows 900-999 of the parquet file at *path*."""
    import pyarrow.parquet as parquet

    rows = parquet.read_table(path, columns=["row", "slot", "judgments"], filters=[("row", ">=", 900)]).to_pylist()
    papers: dict[int, list[str]] = {}
    for row in sorted(rows, key=lambda one: (one["row"], one["slot"])):
        papers.setdefault(row["row"], []).append(row["judgments"])
    return list(papers.values())


def main() -> None:
    start = time.perf_counter()
    model = CacheNgram.load(FOLDER)
    opened = time.perf_counter() - start
    papers = read_judgments(sys.argv[1]) if len(sys.argv) > 1 else reviews(model, 100)
    pairs = [Prediction(paper[1], None, paper[y]) for paper in papers for y in (0, 2)]
    start = time.perf_counter()
    answers = model.logprob(pairs)
    shipped = len(pairs) / (time.perf_counter() - start)
    plain = Plain(model)
    start = time.perf_counter()
    totals = [plain.logprob(pair.x or "", pair.reply) for pair in pairs[:PLAIN_PAIRS]]
    walked = PLAIN_PAIRS / (time.perf_counter() - start)
    worst = max(abs(one.total - other) for one, other in zip(answers, totals, strict=False))
    print(
        f"opened in {opened:.3f} s; {shipped:.0f} pairs/s, plain Python {walked:.2f} pairs/s, "
        f"ratio {shipped / walked:.0f}; largest difference {worst:.1e} nats"
    )


if __name__ == "__main__":
    main()
