"""The command ``gre-bench``."""

import os

# The matrix products are small, so more threads of OpenBLAS (numpy's, not torch's) would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
