"""The figures of a release's boards, as SVG and PNG."""
