"""What a run of the pipeline needs besides its stages: job, runners, workers, progress, spending, Prefect server."""
