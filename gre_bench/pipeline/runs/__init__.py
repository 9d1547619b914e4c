"""Runs the stages of the pipeline, in this process, in workers or under Prefect; tracks progress and spending."""
