"""How the miniature models were trained and measured: everything from plain text to the folders that limbeck ships."""
