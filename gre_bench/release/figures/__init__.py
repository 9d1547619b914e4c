"""The figures of a board, as SVG and PNG."""
