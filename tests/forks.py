"""Child processes of tests, forked from one server that has imported what most of them need.

The first child of a run starts the server, with the modules that are named by then; later names come too late. So all
names stand here. A child that imports its libraries itself takes one to three seconds longer.
"""

from __future__ import annotations

import multiprocessing

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "tests.faults.killing",
        "tests.faults.commands",
        "tests.flows.fetching",
        "tests.pipeline.runs.killed",
        "gre_bench.cli.app",
        "gre_bench.reports.publish_editions",
        "gre_bench.writing.http_writer",
        "gre_bench.ingest.openreview.transport",
        "openreview.api",
        "httpx2",
        "pandas",
        "pyarrow.parquet",
        "scipy.special",
    ]
)
