"""A step that tells which GPU its worker sees."""

from __future__ import annotations

import os
import time

from gre_bench.tasks.policy import make_step


@make_step("tell device", None, 1)
def tell_device() -> tuple[int, str | None]:
    """The worker's id and what it sees, after so long that one worker alone cannot answer for all."""
    time.sleep(0.5)
    return os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES")
