"""Which runs belong together, and how kept vectors are joined."""
