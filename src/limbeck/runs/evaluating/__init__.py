"""What an evaluation computes: its targets and repairs, its scores and comparisons, the tables of its folder."""
