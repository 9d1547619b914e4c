"""The benchmark inside inspect_ai: `inspect eval gre_bench/review` asks any provider and scores as boards do.

board    what the reviews of an edition are scored with; knows nothing of inspect_ai
scorers  scorers and metrics of inspect_ai
review   the task: papers, prompt, scorers; the entry point of inspect_ai

Logs come back to a board with `gre-bench import inspect` (`gre_bench.ingest.records.inspect_logs`).
"""
