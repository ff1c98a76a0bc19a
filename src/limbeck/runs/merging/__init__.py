"""Which runs belong together, and how their sums and vectors are merged."""
