"""What a repairing run computes and writes beside its measures."""
