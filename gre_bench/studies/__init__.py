"""Studies of metrics, references, committees of reviewers, examiners and guidelines, in addition to the board."""
