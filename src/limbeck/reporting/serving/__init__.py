"""A run that is too big for one page, explored from this machine: a small server that reads Parquet as it is asked."""

from limbeck.reporting.serving.server import serve
from limbeck.reporting.serving.words import WordTable

__all__ = ["WordTable", "serve"]
