"""Speed and memory, as ratios from one run, side by side with the peer. Tests do not time; these scripts do."""
