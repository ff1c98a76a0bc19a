"""What the tables of probing call things, for all who write and read them."""

#: tables in the order of a folder; those that there is something for
TABLES = (
    "scores", "classes", "curves", "data", "pieces", "confidence", "selectivity", "description_length", "flips",
    "flip_examples",
)  # fmt: skip
WHOLE = "all"  #: a whole sentence as context
CONTEXT = "context"  #: the layers of the model, one vector an occurrence
AROUND = "P-around"  #: a bag of the text's words without the word itself
MAJORITY = "majority"  #: the largest class for all
RANDOM_LABELS, RANDOM_WEIGHTS = "random labels", "random weights"  #: the layers of the model, as controls
MANY_PIECES = 4  #: words of so many pieces or more are one group
