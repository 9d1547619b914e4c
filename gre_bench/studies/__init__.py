"""Studies: symmetry, known answers, learning curves, examiners, guidelines."""
