import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in gre_bench.cli: a deployment imports this first
