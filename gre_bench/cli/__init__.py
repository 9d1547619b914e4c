"""The command ``gre-bench``."""

import os

# The products here are small: more threads of OpenBLAS (numpy's, not torch's) only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
