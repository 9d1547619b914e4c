"""The benchmark as a task of inspect_ai: ``inspect eval gre_bench/review`` has any model review papers.

The reviews get the same scores as on the edition's board. `gre-bench import inspect` puts the reviews of an inspect_ai
log on a board (`gre_bench.ingest.records.inspect_logs`).
"""
