"""How repairs are named on the command line, for the help of every command that fits some."""

#: the names, which are those of `limbeck.repairs.methods`, without what that imports
METHODS = ("center", "scaled-center", "standardize", "all-but-the-top", "cluster", "whiten")
REPAIR_NAMES = """\
A repair is named METHOD[:NAME=VALUE,...], and several in their order with + between. METHOD is one of
  center           subtract the mean
  scaled-center    subtract the mean of the unit vectors, times each vector's length
  standardize      subtract the mean, divide each dimension by its standard deviation
  all-but-the-top  subtract the mean and the first components (a hundredth of the dimensions); projection=centered, or
                   uncentered as first published
  cluster          the same in each of the clusters (27) with components (12) each; init=k-means++, or random as
                   published; iterations (10), random_state
  whiten           the same variance in every direction
such as all-but-the-top:n_components=15, cluster:n_clusters=27,n_components=12 or standardize+cluster:n_clusters=10
"""
