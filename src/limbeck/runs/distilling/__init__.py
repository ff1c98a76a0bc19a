"""What a distilling run does between its settings and its vectors."""
