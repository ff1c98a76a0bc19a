"""One step of training: loss, gradients, clipping, optimiser. On a GPU the step is recorded and played back.

A miniature's step is a thousand kernels of a few microseconds: launched one by one they leave the GPU idle most of the
time, so the whole step becomes one CUDA graph for each shape of batch.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from recipes.miniatures import Task

GREATEST_NORM = 1.0  #: of the gradient
UNRECORDED = 3  #: steps taken as they come before a shape is recorded: compilers and libraries settle in them


class Steps:
    """Takes steps with one task's model; the optimiser is AdamW without decay for biases and norms."""

    def __init__(self, task: Task, device: torch.device, rate: float) -> None:
        self._task, self._device = task, device
        self._on_gpu = device.type == "cuda"
        model = task.model.to(device).train()
        self._parameters = list(model.parameters())
        self.optimizer = torch.optim.AdamW(
            [
                {"params": [p for p in self._parameters if p.ndim > 1], "weight_decay": 0.01},
                {"params": [p for p in self._parameters if p.ndim <= 1], "weight_decay": 0.0},
            ],
            lr=torch.tensor(rate, device=device) if self._on_gpu else rate,
            betas=(0.9, 0.98),
            eps=task.epsilon,
            fused=self._on_gpu,
            capturable=self._on_gpu,
        )
        self._taken: dict[tuple[torch.Size, ...], int] = {}
        self._recorded: dict[tuple[torch.Size, ...], Recording] = {}

    def take(self, drawn: tuple[Tensor, ...], rate: float) -> Tensor:
        """One step on a drawn batch; its loss, on the device."""
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        shape = tuple(tensor.shape for tensor in drawn)
        taken = self._taken[shape] = self._taken.get(shape, 0) + 1
        if not self._on_gpu or taken <= UNRECORDED:
            return self._step(drawn).detach()
        if shape not in self._recorded:
            self._recorded[shape] = Recording(self._step, drawn)
        return self._recorded[shape].play(drawn)

    def _step(self, drawn: tuple[Tensor, ...]) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        # In a recording the weights' casts must be part of it, not remembered from before.
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._on_gpu, cache_enabled=False):
            loss = self._task.loss(*drawn)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, GREATEST_NORM, foreach=True)
        self.optimizer.step()
        return loss


class Recording:
    """A step as one CUDA graph with its own place for a batch. Recording takes no step: `play` does."""

    def __init__(self, step: Callable[[tuple[Tensor, ...]], Tensor], drawn: tuple[Tensor, ...]) -> None:
        self._batch = tuple(tensor.clone() for tensor in drawn)
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._loss = step(self._batch)

    def play(self, drawn: tuple[Tensor, ...]) -> Tensor:
        for place, tensor in zip(self._batch, drawn, strict=True):
            place.copy_(tensor)
        self._graph.replay()
        return self._loss.detach()
