"""What commands print at their end: a module per command, whose `show` is given the result."""
