"""Repairs of word vectors: fitted once, on arrays or on a stream, and applied to any vectors."""

from limbeck.repairs.center import Center, ScaledCenter, Standardize
from limbeck.repairs.clusters import ClusterRemoval
from limbeck.repairs.components import AllButTheTop
from limbeck.repairs.files import as_torch, load, save
from limbeck.repairs.fitting import fit_source
from limbeck.repairs.folders import load_repairs
from limbeck.repairs.repair import Repair
from limbeck.repairs.source import RepairedSource
from limbeck.repairs.whiten import Whitening

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
