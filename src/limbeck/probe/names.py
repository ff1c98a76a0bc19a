"""What the tables of probing call things, for all who write and read them."""

WHOLE = "all"  #: a whole sentence as context
CONTEXT = "context"  #: the layers of the model, one vector an occurrence
AROUND = "P-around"  #: a bag of the text's words without the word itself
MAJORITY = "majority"  #: the largest class for all
MANY_PIECES = 4  #: words of so many pieces or more are one group
