"""What the models are taught, and that a stopped training goes on as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from recipes.miniatures import CLS, MASK, PIECES, SEP, SPECIALS, TASKS, Bidirectional, Causal, Masked, mask
from recipes.train import Rows, Schedule, Trainer, read_tokens

CPU = torch.device("cpu")


def stream(n: int = 4000) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {"stream": generator.integers(5, PIECES, n).astype(np.uint16), "starts": np.arange(0, n, 20)}


def test_rows_begin_with_a_sentence_and_depend_on_the_step_alone() -> None:
    arrays = stream()
    rows = Rows(arrays, CPU, seed=1)
    first = rows.at(3, 256, 32)
    assert first.shape == (8, 32)
    assert torch.equal(first, Rows(arrays, CPU, seed=1).at(3, 256, 32))
    assert not torch.equal(first, rows.at(4, 256, 32))
    beginnings = {tuple(arrays["stream"][start : start + 32].tolist()) for start in arrays["starts"]}
    assert all(tuple(row.tolist()) in beginnings for row in first)


def test_masks_hide_what_they_should() -> None:
    rows = torch.randint(len(SPECIALS), PIECES, (400, 128), generator=torch.Generator().manual_seed(0))
    rows[:, 0], rows[:, -1], rows[:, 7] = CLS, SEP, SEP
    masked, places, targets = mask(rows, torch.Generator().manual_seed(1))
    assert places.shape == (400, 19)  # 15 % of 126
    assert torch.equal(rows.gather(1, places), targets)
    assert (targets >= len(SPECIALS)).all()  # no special token is asked for
    hidden = torch.zeros_like(rows, dtype=torch.bool).scatter(1, places, True)
    assert torch.equal(masked[~hidden], rows[~hidden])
    shown = masked.gather(1, places)
    assert (shown == MASK).float().mean() == pytest.approx(0.8, abs=0.02)
    assert (shown == targets).float().mean() == pytest.approx(0.1, abs=0.02)


def test_causal_loss_is_the_library_s_own() -> None:
    task = Causal()
    rows = torch.randint(5, PIECES, (2, 16))
    with torch.no_grad():
        assert task.loss(rows).item() == pytest.approx(task.model(input_ids=rows, labels=rows).loss.item(), rel=1e-5)


def test_masked_loss_is_the_library_s_own() -> None:
    task = Masked()
    drawn = task.draw(torch.randint(5, PIECES, (2, 32)), torch.Generator().manual_seed(0))
    labels = torch.full_like(drawn[0], -100).scatter(1, drawn[1], drawn[2])
    with torch.no_grad():
        want = task.model(input_ids=drawn[0], labels=labels).loss.item()
        assert task.loss(*drawn).item() == pytest.approx(want, rel=1e-5)


def words(count: int = 60) -> dict[str, np.ndarray]:
    vocabulary = ["<S>", "</S>", "<UNK>", *(f"w{i}" for i in range(count - 3))]
    return {"vocabulary": np.frombuffer("\n".join(vocabulary).encode(), dtype=np.uint8)}


@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_the_bilm_foretells_the_next_word_and_the_one_before() -> None:
    """A change of the last word must reach no forward prediction but its own; the first word likewise."""
    task = Bidirectional(words())
    rows = torch.randint(3, 60, (1, 8), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        reading = task.model["bilm"].read(task.model["bilm"].embed(task._spelling[rows].long()))
        softmax = task.model["softmax"]
        ahead = softmax(reading.forward[-1])[0, :-1].log_softmax(-1).gather(1, rows[0, 1:, None])
        back = softmax(reading.backward[-1])[0, 1:].log_softmax(-1).gather(1, rows[0, :-1, None])
        want = -(ahead.mean() + back.mean()).item() / 2
        assert task.loss(*task.draw(rows, torch.Generator())).item() == pytest.approx(want, rel=1e-5)


def test_the_rate_rises_and_falls() -> None:
    schedule = Schedule(tokens=100_000, batch_tokens=100, rate=1.0)
    rates = [schedule.rate_at(step) for step in range(schedule.steps)]
    assert max(rates) == pytest.approx(1.0)
    assert rates[0] < 0.1
    assert rates[-1] < 0.001
    top = int(np.argmax(rates))
    assert top == pytest.approx(20, abs=1)
    assert (np.diff(rates[top:]) <= 0).all()


def trainer(folder: Path, name: str = "mini-gpt2") -> Trainer:
    torch.manual_seed(0)
    folder.mkdir(exist_ok=True)
    schedule = Schedule(tokens=4 * 256, batch_tokens=256, rate=1e-3)
    return Trainer(TASKS[name](), Rows(stream(), CPU, seed=0), schedule, folder, CPU)


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole = trainer(tmp_path / "whole")
    assert whole.run(log_every=3)
    stopped = trainer(tmp_path / "parts")
    take = stopped._one_step

    def stop_after_two() -> torch.Tensor:
        stopped._stopped = stopped.step == 1
        return take()

    stopped._one_step = stop_after_two  # type: ignore[method-assign]
    assert not stopped.run(log_every=3)
    with (tmp_path / "parts" / "log.csv").open("a") as log:
        log.write("step,tokens,loss,rate,seconds\n3,768,9.9,0.1,1.0\n")  # logged, and then killed
    assert stopped.step == 2
    again = trainer(tmp_path / "parts")
    again.resume()
    assert again.step == 2
    assert again.run(log_every=3)
    for name, tensor in whole.task.model.state_dict().items():
        assert torch.equal(tensor, again.task.model.state_dict()[name]), name
    logs = [(tmp_path / part / "log.csv").read_text().splitlines() for part in ("whole", "parts")]
    assert [line.split(",")[:3] for line in logs[0]] == [line.split(",")[:3] for line in logs[1]]
    assert (tmp_path / "parts" / "model" / "model.safetensors").stat().st_size < 8e6


def test_other_settings_are_refused(tmp_path: Path) -> None:
    assert trainer(tmp_path / "run").run()
    other = trainer(tmp_path / "run")
    other.schedule = Schedule(tokens=4 * 256, batch_tokens=256, rate=2e-3)
    with pytest.raises(SystemExit, match="take another --out"):
        other.resume()


def test_a_wrong_file_of_tokens_is_told_in_a_line(tmp_path: Path) -> None:
    text = tmp_path / "text.npz"
    text.write_text("no arrays")
    with pytest.raises(SystemExit, match=r"not a file of recipes\.tokens"):
        read_tokens(text, words=False)
    pieces = tmp_path / "pieces.npz"
    np.savez(pieces, **stream())
    assert len(read_tokens(pieces, words=False)["stream"]) == 4000
    with pytest.raises(SystemExit, match="trained on words"):
        read_tokens(pieces, words=True)
