"""What every other room rests on: records, errors, settings, and texts as their parts."""
