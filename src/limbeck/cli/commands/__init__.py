"""Commands that fill no run folder: a module per command. Those that do stand in `limbeck.runs`."""
