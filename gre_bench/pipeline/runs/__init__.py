"""What runs the stages of the pipeline: job, runners, workers, progress, spending, Prefect server."""
