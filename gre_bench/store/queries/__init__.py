"""What the queries of ``sql/queries`` give: a `TypedDict` for each, in a module for each file of queries.

The row of the query ``text_states`` is `TextStatesRow`. Tests hold names and types against DuckDB's ``describe``.
"""
