"""What training holds in memory is known before it begins, and told where it is more than there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml

from incrt_cli.cli.main import run
from incrt_cli.config.load import load_config
from incrt_cli.model.classifier import Architecture, Classifier, count_parameters
from incrt_cli.report.render import summarise_run
from incrt_cli.rundir import read_run
from incrt_cli.training import budget
from incrt_cli.training.budget import estimates, too_large
from incrt_cli.training.machine import available_bytes
from incrt_cli.training.memory import Load, estimate_memory
from incrt_cli.training.prepare import Prepared, prepare
from incrt_cli.training.progress import Silent
from incrt_cli.training.run import train
from tests.training.small import SMALL

CPU = torch.device("cpu")


def _prepared(*overrides: str) -> Prepared:
    return prepare(load_config(None, overrides, SMALL), lambda _: None)


def _peak(work: Callable[[], object]) -> int:
    """The most bytes that torch's allocator gave out at a time during `work`."""
    with torch.profiler.profile(profile_memory=True) as profile:
        work()
    held = most = 0
    found = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    for event in sorted(found, key=lambda e: e.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


@pytest.mark.parametrize(("value_width", "ffn"), [(8, 0.0), (8, 4.0), (4, 0.0)])
@pytest.mark.parametrize("recompute", [False, True])
def test_the_activations_of_a_step_are_those_that_were_estimated(
    value_width: int, ffn: float, recompute: bool
) -> None:
    """Widths of heads that differ and that do not; recomputing takes less, and is told so."""
    heads, rows, tokens = (8, 8, 8), 8, 128
    shape = Architecture(16, tokens, 2, 32, 8, value_width, heads, ffn, dropout=0.1)
    model = Classifier(shape, recompute)
    batch = torch.randint(1, 16, (rows, tokens))

    def work() -> None:
        model(batch, None).sum().backward()

    work()
    model.zero_grad()
    measured = _peak(work) - 4 * count_parameters(model)
    load = Load(rows, tokens, 4 * rows, recompute=recompute)
    estimated = estimate_memory(shape, heads, count_parameters(model), load)
    assert estimated.step == pytest.approx(measured, rel=0.25)
    kept = estimate_memory(shape, heads, count_parameters(model), Load(rows, tokens, 4 * rows))
    assert not recompute or measured < 0.7 * kept.step


def test_the_bound_is_estimated_too_and_goes_into_the_prediction(tmp_path: Path) -> None:
    config = load_config(None, ["train.epochs=0.2"], SMALL)
    folder = train(config, tmp_path / "run", Silent(), summarise_run)
    memory = (read_run(folder).prediction or {})["memory"]
    assert memory["now"]["heads"] == [1] and memory["k_bound"]["heads"][0] > 1
    assert memory["k_bound"]["peak"] > memory["now"]["peak"]
    assert memory["now"]["peak"] > memory["now"]["held"] + memory["now"]["look"] - 1 > 0


def test_pieces_lower_the_estimate_and_max_heads_bounds_it() -> None:
    whole, pieces, bounded = (
        estimates(_prepared(*keys))["k_bound"] for keys in ([], ["train.accumulate=4"], ["gate.max_heads=2"])
    )
    assert (whole.rows, pieces.rows) == (32, 8)
    assert whole.step == 4 * pieces.step
    assert bounded.heads == (2,)


def test_a_run_that_may_not_fit_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = _prepared()
    found = estimates(prepared)
    monkeypatch.setattr(budget, "available_bytes", lambda device: found["k_bound"].peak - 1)
    assert "should it not fit, set train.recompute=true" in str(too_large(prepared, found))
    for enough in (found["k_bound"].peak, None):
        monkeypatch.setattr(budget, "available_bytes", lambda device, free=enough: free)
        assert too_large(prepared, found) is None


@pytest.mark.parametrize(
    ("part", "helps", "says"),
    [
        ("held", "", "lower model.width"),
        ("checkpoint", "", "lower model.width"),
        ("look", "set train.recompute=true, or", "lower model.width"),
        ("evaluation", "raise train.accumulate (1 now), or", "lower train.batch_size"),
        ("step", "raise train.accumulate (1 now) or set train.recompute=true, or", "lower train.batch_size"),
    ],
)
def test_the_warning_names_what_makes_its_part_smaller(
    part: str, helps: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = replace(estimates(_prepared())["now"], held=5, step=1, look=2, evaluation=3, checkpoint=4)
    found = replace(found, **{part: 100}, peak=105)
    monkeypatch.setattr(budget, "available_bytes", lambda device: 50)
    assert f"should it not fit, {helps} {says}".replace("  ", " ") in str(
        too_large(_prepared(), {"now": found})
    )


def test_the_least_that_machine_and_groups_leave_is_what_is_available(tmp_path: Path) -> None:
    def write(name: str, text: str) -> None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert available_bytes(CPU, tmp_path) is None
    write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:   8000 kB\n")
    write("proc/self/cgroup", "4:cpu,memory:/job/part\n0::/job/part\n")
    assert available_bytes(CPU, tmp_path) == 8000 * 1024
    write("sys/fs/cgroup/job/part/memory.max", "max\n")
    write("sys/fs/cgroup/job/memory.max", "5000000\n")
    write("sys/fs/cgroup/job/memory.current", "3000000\n")
    write("sys/fs/cgroup/job/memory.stat", "anon 7\ninactive_file 500000\n")
    assert available_bytes(CPU, tmp_path) == 2_500_000
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n")
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1200000\n")
    assert available_bytes(CPU, tmp_path) == 0


@pytest.mark.parametrize(
    "content", [b"", b"max", b"-1", b"12 kB", b"\xff\xfe", "\u00b2".encode(), b"9" * 6000, b"0:", b"0::/\0\n"]
)
def test_a_system_that_talks_nonsense_has_not_said_anything(tmp_path: Path, content: bytes) -> None:
    limit, group = "sys/fs/cgroup/memory.max", "proc/self/cgroup"
    for name in ("sys/fs/cgroup/memory.current", "sys/fs/cgroup/memory.stat", "proc/meminfo", limit, group):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert available_bytes(CPU, tmp_path) is None
    (tmp_path / group).write_text("0::/\n")
    assert available_bytes(CPU, tmp_path) is None
    (tmp_path / "sys/fs/cgroup/memory.current").write_text("3\n")
    (tmp_path / limit).write_text("10\n")
    assert available_bytes(CPU, tmp_path) == 7


def test_looks_are_in_full_precision_whatever_steps_are_in() -> None:
    full, half = (estimates(_prepared(f"train.precision={name}"))["now"] for name in ("float32", "bfloat16"))
    assert half.look == full.look > 0 and half.step < full.step


def test_a_dry_run_shows_the_estimates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(SMALL))
    assert run(["train", str(tmp_path / "config.yaml"), "--dry-run"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("memory for tensors")]
    assert len(lines) == 2 and lines[0].startswith(
        "memory for tensors, with 1 head and 32 rows of up to 10 tokens"
    )
