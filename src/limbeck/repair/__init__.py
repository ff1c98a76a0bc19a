"""Repairs of word vectors: fitted once, on arrays or on a stream, and applied to any vectors."""

from limbeck.repair.center import Center, ScaledCenter, Standardize
from limbeck.repair.clusters import ClusterRemoval
from limbeck.repair.components import AllButTheTop
from limbeck.repair.files import as_torch, load, save
from limbeck.repair.fitting import fit_source
from limbeck.repair.folders import load_repairs
from limbeck.repair.repair import Repair
from limbeck.repair.source import RepairedSource
from limbeck.repair.whiten import Whitening

__all__ = [
    "AllButTheTop",
    "Center",
    "ClusterRemoval",
    "Repair",
    "RepairedSource",
    "ScaledCenter",
    "Standardize",
    "Whitening",
    "as_torch",
    "fit_source",
    "load",
    "load_repairs",
    "save",
]
