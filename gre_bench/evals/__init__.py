"""The benchmark inside inspect_ai: `inspect eval gre_bench/review` asks any provider and scores as boards do.

board    scores single reviews as an edition's board does, without inspect_ai
scorers  scorers and metrics of inspect_ai
review   the task: papers, prompt, scorers; the entry point of inspect_ai

`gre-bench import inspect` (`gre_bench.ingest.records.inspect_logs`) puts the reviews of a log on a board.
"""
