"""What all repairs share: scikit-learn's contract on numpy arrays and torch tensors, files, and use inside a pass."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.errors import InputError, LimbeckError, MissingExtra, UsageError
from limbeck.measures.rows import blocks, narrow
from limbeck.real import real_array, refuse_unreal
from limbeck.vectors import StaticVectors

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise MissingExtra(
        'Repair needs scikit-learn, which is not installed: pip install "limbeck[repair]".', code="not_installed"
    ) from error

Learned = dict[str, torch.Tensor]
SAFE = (1e-12, 1e15)  #: largest values whose squares, summed over many rows, float32 can hold to all its digits


class Repair(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn transformer of word vectors (n, d) to (n, d), fitted on some and applied to any.

    numpy arrays and torch tensors are taken and the same kind is given back, on the same device and in the same
    dtype; what is narrower than 32 bits is computed in float32. Sums are float64.

    A subclass names what it learns in `learned`, and defines `begin`, `take`, `learn` and `apply`; what it sums lives
    in private attributes. `limbeck.testing.check_repair` says whether it keeps the laws.
    """

    learned: ClassVar[tuple[str, ...]] = ()  #: names of the fitted arrays, each with scikit-learn's final underscore
    kinds: ClassVar[dict[str, type[Repair]]] = {}  #: every repair by its class's name, for files

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        other = Repair.kinds.get(cls.__name__)
        if other is not None and other.__module__ != cls.__module__:
            raise TypeError(
                f"a repair's name must be its own, since files know it by that; {cls.__name__} is also in "
                f"{other.__module__}."
            )
        if cls.learned:
            Repair.kinds[cls.__name__] = cls

    # --- what a kind defines --------------------------------------------------------------------

    def begin(self, dim: int) -> None:
        """Check the parameters and make empty sums."""
        raise NotImplementedError

    def take(self, x: torch.Tensor, weights: torch.Tensor | None) -> None:
        """Add rows x (n, d) to the sums; weights (n,) are positive float64."""
        raise NotImplementedError

    def take_all(self, x: torch.Tensor, weights: torch.Tensor | None) -> None:
        """Take in all rows there are; for repairs that can do better with all of them than with a batch."""
        self.take(x, weights)

    def learn(self) -> Learned:
        """The fitted arrays, from the sums."""
        raise NotImplementedError

    @staticmethod
    def apply(x: torch.Tensor, learned: Learned, **params: Any) -> torch.Tensor:
        """Repair rows x (n, d), of which there may be none; `learned` has x's dtype and device."""
        raise NotImplementedError

    # --- fitting --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on all rows of X, or on all vectors of a table of words, weighted by `sample_weight` (word frequencies,
        say) where it is given."""
        x, weights = self._rows_and_weights(X, sample_weight, first=True)
        self._restart(x.shape[1])
        self.take_all(x, weights)
        self._settle()
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take in one more batch. Memory does not grow; what is learned is worked out when it is next asked for."""
        first = "_summing" not in vars(self)
        if first and self.__sklearn_is_fitted__():
            raise LimbeckError(
                f"a {type(self).__name__} from a file holds what it learned but not its sums, so it cannot take in "
                "more rows: fit a new one.",
                code="unsupported",
            )
        x, weights = self._rows_and_weights(X, sample_weight, first=first)
        if first:
            self._restart(x.shape[1])
        self._forget()
        self.take(x, weights)
        return self

    def _restart(self, dim: int) -> None:
        self._forget()
        self.begin(dim)
        self._summing = True

    def _forget(self) -> None:
        for name in self.learned:
            self.__dict__.pop(name, None)

    def _settle(self) -> None:
        for name, array in self.learn().items():
            setattr(self, name, array.cpu().numpy().copy())

    def __getattr__(self, name: str) -> Any:
        """After `partial_fit`, work out what was learned when it is asked for: once a stream, not once a batch."""
        if name in type(self).learned and "_summing" in vars(self):
            self._settle()
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # --- applying -------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Repair the rows of X, which need not be those of the fit; of StaticVectors others come back."""
        check_is_fitted(self)
        if isinstance(X, StaticVectors):
            return StaticVectors(X.words, self.transform(X.matrix))
        x = self._rows(X, first=False)
        within = _within_range(x)
        kept = self._tensors()
        done = torch.empty_like(x, memory_format=torch.contiguous_format)
        for start in (starts := blocks(x)):
            part = slice(start, start + starts.step)
            done[part] = self._applied(within[part], kept).to(x.dtype)
        if isinstance(X, torch.Tensor):
            return done
        return done.numpy().astype(np.float16) if getattr(X, "dtype", None) == np.float16 else done.numpy()

    def as_torch(self) -> torch.nn.Module:
        """A module that repairs tensors (…, d) where they are, without the checks of `transform`.

        What was learned stays float64 and is rounded to the input's dtype in use, so both give the same.
        """
        check_is_fitted(self)
        return Applied(self)

    def _applied(self, x: torch.Tensor, kept: Learned) -> torch.Tensor:
        learned = {name: array.to(x.device, narrow(x)) for name, array in kept.items()}
        return self.apply(x.to(narrow(x)), learned, **self.get_params(deep=False)).to(x.dtype)

    def _tensors(self) -> Learned:
        return {name: torch.from_numpy(np.array(getattr(self, name))) for name in self.learned}

    def save(self, path: str | Path) -> None:
        """Write the fitted repair to a safetensors file; `limbeck.repairs.load` reads it."""
        from limbeck.repairs.files import save  # files knows every repair, chains too

        save(self, path)

    # --- checks ---------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_summing" in vars(self) or all(name in vars(self) for name in self.learned)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _rows(self, X: Any, *, first: bool) -> torch.Tensor:
        """X as a checked tensor (n, d), without a copy where that can be."""
        if not isinstance(X, StaticVectors):
            refuse_parts(X)
        if not isinstance(X, torch.Tensor):
            X = X.matrix if isinstance(X, StaticVectors) else X
            X = X.astype(np.float32) if getattr(X, "dtype", None) == np.float16 else X
            array = validate_data(self, X, reset=first, dtype=[np.float64, np.float32])
            return _tensor(array)
        x = X.detach()
        x = x if x.is_floating_point() else x.to(torch.float64)
        if x.ndim != 2 or not x.shape[0] or not x.shape[1]:
            raise ValueError(f"X must have rows and columns, (n, d); got shape {tuple(x.shape)}.")
        if first:
            self.n_features_in_ = x.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        elif x.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {x.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input."
            )
        for start in (starts := blocks(x)):
            rows = x[start : start + starts.step]
            # a sum is cheap, and finite only where all are; where it is not, it may have been too large
            if not bool(rows.sum(dtype=torch.float64).isfinite()) and not bool(rows.isfinite().all()):
                raise ValueError(f"X must be finite; rows {start} and after hold NaN or infinity: leave them out.")
        return x

    def _rows_and_weights(self, X: Any, weights: Any, *, first: bool) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Checked rows and weights; rows without weight are left out."""
        x = _within_range(self._rows(X, first=first))
        if weights is None:
            return x, None
        w = real_array(weights, what="sample_weight").astype(np.float64)
        if w.ndim == 0:
            w = np.full(len(x), w)
        if w.shape != (len(x),):
            raise ValueError(f"sample_weight must be a number for each of the {len(x)} rows; got shape {w.shape}.")
        if not np.isfinite(w).all() or (w < 0).any() or not w.any():
            raise ValueError("sample_weight must be finite and not negative, and not zero for every row.")
        held = torch.from_numpy(w.copy()).to(x.device)
        there = held > 0
        return (x, held) if bool(there.all()) else (x[there], held[there])


class Applied(torch.nn.Module):
    """A fitted repair as a module; see `Repair.as_torch`."""

    def __init__(self, repair: Repair) -> None:
        super().__init__()
        self._repair = type(repair)(**repair.get_params(deep=False))
        for name, array in repair._tensors().items():
            self.register_buffer(name, array)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, x.shape[-1])
        return self._repair._applied(rows, dict(self.named_buffers())).reshape(x.shape)


def refuse_parts(X: Any) -> None:
    """Refuse what would be dropped in silence, with the exception that scikit-learn has for it."""
    parts, kind = isinstance(X, torch.Tensor) and X.is_complex(), ""
    if not isinstance(X, torch.Tensor):
        given = np.asarray(X)
        kind = given.dtype.kind
        parts = kind == "c" or (kind == "O" and any(isinstance(one, complex) for one in given.flat))
    if parts:
        raise ValueError("Complex data not supported: X must hold real numbers, got complex ones.")
    if kind in ("U", "S", "M", "m"):
        raise ValueError("X must hold real numbers, got strings or dates.")
    try:
        refuse_unreal(X, what="X")
    except InputError as error:
        raise ValueError(str(error)) from None


def _within_range(x: torch.Tensor) -> torch.Tensor:
    """Rows in float64 where squares of float32 would overflow or vanish, else as they are."""
    if x.dtype == torch.float64:
        return x
    low, high = torch.aminmax(x)
    largest = max(-float(low), float(high))
    return x if SAFE[0] < largest < SAFE[1] or not largest else x.to(torch.float64)


def _tensor(array: NDArray[Any]) -> torch.Tensor:
    """The array without a copy where that can be. It is only read, so torch's warning of read-only arrays is beside
    the point."""
    if not array.dtype.isnative or any(stride < 0 for stride in array.strides):  # torch has neither
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)


def chain_of(repair: Any) -> list[tuple[str, Repair]]:
    """The repairs of a Pipeline in order, with their names; a repair alone is a chain of one. Others are refused."""
    steps = list(repair.steps) if isinstance(repair, Pipeline) else [(type(repair).__name__.lower(), repair)]
    kept = [(name, step) for name, step in steps if step is not None and step != "passthrough"]
    for _, step in kept:
        if not isinstance(step, Repair):
            raise UsageError(
                f"a repair or a Pipeline of repairs is needed; got {type(step).__name__}.",
                code="wrong_type",
                parameter="repair",
            )
    if not kept:
        raise UsageError(
            "a repair or a Pipeline of repairs is needed; got a Pipeline without steps.",
            code="empty",
            parameter="repair",
        )
    return kept


def check_below(components: int, dim: int) -> int:
    """How many components are removed: where it were all dimensions, nothing but rounding would be left of vectors."""
    if components >= dim > 1:
        raise LimbeckError(
            f"n_components must be fewer than the {dim} dimensions of the vectors, got {components}: nothing but "
            "rounding would be left of them, remove fewer.",
            code="out_of_range",
            parameter="n_components",
        )
    return min(components, dim)


def check_whole(name: str, value: Any, *, least: int) -> int:
    """A parameter that must be a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise LimbeckError(
            f"{name} must be a whole number of at least {least}; got {value!r}.", code="out_of_range", parameter=name
        )
    return int(value)
