"""Training of evaluation LMs from judgments."""
