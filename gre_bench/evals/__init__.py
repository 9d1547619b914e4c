"""The benchmark inside inspect_ai: ``inspect eval gre_bench/review`` reviews papers with any model that inspect_ai
knows.

board    scores single reviews as an edition's board does, without inspect_ai
scorers  scorers and metrics of inspect_ai
review   the inspect_ai task: papers, prompt and scorers

The reviews get the same scores as on the edition's board. `gre-bench import inspect` puts the reviews of an inspect_ai
log on a board (`gre_bench.ingest.records.inspect_logs`).
"""
