"""Runs: a module is a command, with its settings, its run and its result; packages hold what commands share."""
