"""Pictures as SVG, which every room may draw."""
