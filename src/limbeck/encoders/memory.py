"""The forward pass within the device's memory: a batch that does not fit is read in halves, and so are later ones."""

from __future__ import annotations

import errno
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import finalize

import numpy as np

from limbeck.encoders.batching import select, text_starts, window_ranges
from limbeck.encoders.protocol import Encoder, Ints, Prepared
from limbeck.errors import LimbeckError

if TYPE_CHECKING:
    import torch

#: what torch says of a full memory where it has no exception of its own for that: the CPU's allocator, MPS, cuBLAS
_SAID = ("you tried to allocate", "out of memory", "_ALLOC_FAILED")
#: most pieces that an encoder has been found to have room for at once, where it had none for more; by its `id`, since
#: a user's need not be hashable
_room: dict[int, int] = {}


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


#: says a line to the user; a process whose output nobody sees has another way
say: Callable[[str], None] = _print


def read_parts(encoder: Encoder, batch: Prepared) -> Iterator[tuple[slice, Prepared, torch.Tensor]]:
    """The forward pass of a batch: the whole, or where there is no room for it parts of whole texts, in order.

    Of each part: which of the batch's units are in it, the part itself, and its vectors (layers, units, dim). A text
    that does not fit alone is an error.
    """
    starts = text_starts(batch)
    texts = len(starts) - 1
    if texts < 1:
        yield slice(0, 0), batch, encoder.forward(batch)
        return
    sizes = _pieces_before(batch, starts)
    waiting = [(0, texts)]
    while waiting:
        low, high = waiting.pop()
        middle = (low + high) // 2
        pieces = int(sizes[high] - sizes[low])
        if high - low > 1 and pieces > _room.get(id(encoder), pieces):
            waiting += [(middle, high), (low, middle)]
            continue
        part = batch if high - low == texts else select(batch, np.arange(low, high))
        vectors = _tried(encoder, part)
        if vectors is not None:
            yield slice(int(starts[low]), int(starts[high])), part, vectors
            del vectors  # the next part may need its room
            continue
        if high - low == 1 or encoder.carries_state:
            raise _no_room(encoder, pieces, high - low)
        _keep_to(encoder, int(max(sizes[middle] - sizes[low], sizes[high] - sizes[middle])))
        waiting += [(middle, high), (low, middle)]


def read_to_host(encoder: Encoder, batch: Prepared) -> torch.Tensor:
    """All vectors of a batch (layers, units, dim) in the host's memory, float32; see `read_parts`."""
    import torch

    parts = [vectors.to("cpu", torch.float32) for _, _, vectors in read_parts(encoder, batch)]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory is full, a device's or the host's."""
    import torch

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error) for said in _SAID)


def give_back_memory() -> None:
    """Let the device have what is no longer used, in pieces that are as large as they can be."""
    import torch

    gc.collect()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _tried(encoder: Encoder, batch: Prepared) -> torch.Tensor | None:
    """The batch's vectors, or None where there is no room for them."""
    try:
        return encoder.forward(batch)
    except (RuntimeError, MemoryError) as error:  # torch's own is a RuntimeError
        if not is_out_of_memory(error):
            raise
    # behind the `except`: until there the exception holds all that the forward pass had made
    give_back_memory()
    return None


def _pieces_before(batch: Prepared, starts: Ints) -> Ints:
    """How many pieces are read for the texts before each, (texts + 1,)."""
    low, high = window_ranges(batch, starts)
    own = batch.window_starts[high] - batch.window_starts[low]
    found: Ints = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(own)])
    return found


def _keep_to(encoder: Encoder, pieces: int) -> None:
    """Remember what there is room for; the first time it is said."""
    if id(encoder) not in _room:
        with suppress(TypeError):  # some objects cannot tell when they go
            finalize(encoder, _room.pop, id(encoder), None)
        say(
            f"{encoder.name}: out of memory on {_device(encoder)}, so batches are halved until they fit, from now on; "
            f"--batch-tokens {max(pieces, 1)} would begin there."
        )
    _room[id(encoder)] = pieces


def _no_room(encoder: Encoder, pieces: int, texts: int) -> LimbeckError:
    """What to say of what cannot be halved. The cause says that a run may go on from where it was."""
    alone = f"a text of {pieces:,} pieces needs more memory than there is on {_device(encoder)}, even alone"
    if texts > 1:
        alone = (
            f"{texts} texts of {pieces:,} pieces need more memory than there is on {_device(encoder)}, and a model "
            "that carries its state on from batch to batch cannot read them in halves"
        )
    found = LimbeckError(
        f"{alone}: lower --batch-tokens or --window, or take --dtype=bfloat16 or another --device.",
        code="no_memory",
        parameter="batch_tokens",
    )
    found.__cause__ = OSError(errno.ENOMEM, "out of memory")
    return found


def _device(encoder: Encoder) -> str:
    return str(encoder.device)
