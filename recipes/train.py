"""Train one miniature from a file of tokens, on the CPU or one GPU.

    python -m recipes.train mini-gpt2 pieces.npz --out out/mini-gpt2 --tokens 400e6
    python -m recipes.train mini-elmo words.npz  --out out/mini-elmo --tokens 336e6

The same command goes on where it was stopped. In the folder: `model/` (what limbeck loads), `log.csv` (loss by tokens
seen), `early.safetensors` (the embedding table at a few early moments), `checkpoint.pt` (everything, to go on from).
"""

from __future__ import annotations

import argparse
import csv
import math
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

import numpy as np
import torch
from torch import Tensor

from recipes.miniatures import POSITIONS, TASKS, Task, write_tensors
from recipes.steps import Steps
from recipes.tokens import load

EARLY = (0, 1e6, 4e6, 16e6, 64e6, 256e6)  #: tokens seen at which the embedding table is kept


@dataclass(frozen=True)
class Schedule:
    """How much is seen, in which rows, and how large a step is taken."""

    tokens: float
    batch_tokens: int
    rate: float
    warmup: float = 0.02

    @property
    def steps(self) -> int:
        return math.ceil(self.tokens / self.batch_tokens)

    def rate_at(self, step: int) -> float:
        """Linear warm-up, then half a cosine down to zero."""
        warm = max(1, int(self.warmup * self.steps))
        if step < warm:
            return self.rate * (step + 1) / warm
        return self.rate * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, self.steps - warm)))


class Rows:
    """Slices of the stream that begin with a sentence chosen at random; the same step always gives the same rows."""

    def __init__(self, arrays: dict[str, np.ndarray], device: torch.device, seed: int) -> None:
        stream = arrays["stream"]
        self._stream = torch.from_numpy(stream.astype(np.int32)).to(device)
        starts = arrays["starts"]
        self._starts = torch.from_numpy(starts[starts < len(stream) - POSITIONS])
        self.seed = seed

    def generator(self, step: int, device: torch.device | str = "cpu") -> torch.Generator:
        return torch.Generator(device).manual_seed(self.seed * 1_000_003 + step)

    def at(self, step: int, batch_tokens: int, length: int) -> Tensor:
        choice = torch.randint(len(self._starts), (batch_tokens // length,), generator=self.generator(step))
        starts = self._starts[choice].to(self._stream.device, non_blocking=True)
        return self._stream[starts[:, None] + torch.arange(length, device=starts.device)].long()


class Trainer:
    """The loop, and all that must survive a stop: weights, optimiser, step, early tables, time spent."""

    def __init__(self, task: Task, rows: Rows, schedule: Schedule, folder: Path, device: torch.device) -> None:
        self.task, self.rows, self.schedule, self.folder, self.device = task, rows, schedule, folder, device
        self.steps = Steps(task, device, schedule.rate)
        self.step = 0
        self.seconds = 0.0
        self.early: dict[str, Tensor] = {}
        self._losses, self._counted = torch.zeros((), device=device), 0  # since the last line of the log
        self._stopped = False

    def run(self, *, log_every: int = 100, save_every: float = 60.0) -> bool:
        """Train to the end of the schedule, or until told to stop; whether the end was reached."""
        previous = [signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)]
        try:
            self._run(log_every, save_every)
        finally:
            for number, handler in zip((signal.SIGINT, signal.SIGTERM), previous, strict=True):
                signal.signal(number, handler)
        self.save()
        return self.step >= self.schedule.steps

    def _run(self, log_every: int, save_every: float) -> None:
        begun, before, saved = time.monotonic(), self.seconds, time.monotonic()
        while self.step < self.schedule.steps and not self._stopped:
            self._keep_early()
            self._losses += self._one_step()
            self.step += 1
            self._counted += 1
            if self.step % log_every == 0 or self.step == self.schedule.steps:
                loss = self._losses.item() / self._counted
                self._losses, self._counted = self._losses.zero_(), 0
                if not math.isfinite(loss):
                    raise SystemExit(f"step {self.step}: the loss is {loss}; lower --rate")
                self.seconds = before + time.monotonic() - begun
                self._log(loss)
                if time.monotonic() - saved > save_every:
                    self.save()
                    saved = time.monotonic()
        self.seconds = before + time.monotonic() - begun

    def _one_step(self) -> Tensor:
        rows = self.rows.at(self.step, self.schedule.batch_tokens, self.task.row_length)
        drawn = self.task.draw(rows, self.rows.generator(self.step, self.device))
        return self.steps.take(drawn, self.schedule.rate_at(self.step))

    def _keep_early(self) -> None:
        due = [int(at) for at in EARLY if at <= self.step * self.schedule.batch_tokens]
        name = f"{due[-1] // 1_000_000}M"
        if name not in self.early:
            with torch.no_grad():
                self.early[name] = self.task.table().detach().half().cpu().clone()

    def _log(self, loss: float) -> None:
        path = self.folder / "log.csv"
        tokens = self.step * self.schedule.batch_tokens
        fresh = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if fresh:
                writer.writerow(["step", "tokens", "loss", "rate", "seconds"])
            rate = self.schedule.rate_at(self.step - 1)
            writer.writerow([self.step, tokens, f"{loss:.4f}", f"{rate:.6f}", f"{self.seconds:.1f}"])
        print(
            f"{self.folder.name} {tokens / 1e6:8.1f} M tokens  loss {loss:.3f}  {tokens / self.seconds / 1e6:.2f} M/s"
        )

    def save(self) -> None:
        state = {
            "model": self.task.model.state_dict(),
            "optimizer": self.steps.optimizer.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
            "early": self.early,
            "losses": self._losses,
            "counted": self._counted,
            "settings": self._settings(),
        }
        part = self.folder / "checkpoint.part"
        torch.save(state, part)
        part.replace(self.folder / "checkpoint.pt")
        self.task.save(self.folder / "model")
        write_tensors(self.folder / "early.safetensors", self.early)

    def resume(self) -> None:
        path = self.folder / "checkpoint.pt"
        if not path.exists():
            return
        state = torch.load(path, map_location=self.device, weights_only=True)
        if state["settings"] != self._settings():
            raise SystemExit(f"{path}: made with {state['settings']}, asked for {self._settings()}; take another --out")
        self.task.model.load_state_dict(state["model"])
        self.steps.optimizer.load_state_dict(state["optimizer"])
        self.step, self.seconds, self.early = state["step"], state["seconds"], state["early"]
        self.early = {name: table.cpu() for name, table in self.early.items()}
        self._losses, self._counted = state["losses"], state["counted"]
        self._forget_log_after_checkpoint()
        print(f"{self.folder.name}: going on from step {self.step}")

    def _settings(self) -> dict[str, float | int | str]:
        """What a training that goes on must have in common with the one it goes on from."""
        return {"model": type(self.task).__name__, "seed": self.rows.seed, **asdict(self.schedule)}

    def _forget_log_after_checkpoint(self) -> None:
        """Steps that were taken after the last checkpoint will be taken again, and logged again."""
        path = self.folder / "log.csv"
        if path.exists():
            header, *lines = path.read_text().splitlines()
            kept = [line for line in lines if int(line.split(",")[0]) <= self.step]
            path.write_text("\n".join([header, *kept]) + "\n")

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopped = True


def read_tokens(path: Path, *, words: bool) -> dict[str, np.ndarray]:
    """The arrays of recipes.tokens, of the kind that a model reads."""
    try:
        arrays = load(path)
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path}: not a file of recipes.tokens ({error})") from error
    if "stream" not in arrays or ("vocabulary" in arrays) != words:
        raise SystemExit(f"{path}: this model is trained on {'words' if words else 'pieces'}: see recipes.tokens")
    return arrays


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=sorted(TASKS))
    parser.add_argument("tokens_file", type=Path, help="pieces.npz, or words.npz for mini-elmo (recipes.tokens)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tokens", type=float, default=400e6, help="how many are seen in all (%(default)s)")
    parser.add_argument("--batch-tokens", type=int, default=32_768, help="a step (%(default)s)")
    parser.add_argument("--rate", type=float, default=3e-3, help="the greatest learning rate (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=torch.cuda.is_available())
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    options.out.mkdir(parents=True, exist_ok=True)
    device = torch.device(options.device)
    arrays = read_tokens(options.tokens_file, words=options.model == "mini-elmo")
    task = TASKS[options.model](arrays)
    if options.batch_tokens < task.row_length:
        parser.error(f"--batch-tokens must be {task.row_length} or more, a row of this model")
    if options.compile:
        task.compile()
    schedule = Schedule(options.tokens, options.batch_tokens, options.rate)
    trainer = Trainer(task, Rows(arrays, device, options.seed), schedule, options.out, device)
    trainer.resume()
    if not trainer.run():
        raise SystemExit(f"{options.out}: stopped at step {trainer.step}; the same command goes on")


if __name__ == "__main__":
    main()
