"""A run of the pipeline: job, runners, workers, progress, spending, Prefect server."""
