"""What a probing run does with labelled words."""
