"""Studies: symmetry, planted flaws, labelled points, examiners, guidelines."""
