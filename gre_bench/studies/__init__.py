"""Studies: symmetry, planted flaws, labelled points, references, committees, certificates, examiners, guidelines."""
