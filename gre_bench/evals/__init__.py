"""The benchmark as an inspect_ai task: ``inspect eval gre_bench/review`` makes any model review papers.

The reviews are scored as on the edition's board. `gre-bench import inspect` adds the reviews from an inspect_ai log to
a board (`gre_bench.ingest.records.inspect_logs`).
"""
