"""What every run goes through: folders, sources, parts of a text, a pass that several runs share."""
