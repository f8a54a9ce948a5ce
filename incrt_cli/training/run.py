"""A whole run: prepare, predict, train, certify, test, and write the run folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from incrt_cli.config.load import dump_config
from incrt_cli.config.schema import Config
from incrt_cli.data.task import Task
from incrt_cli.errors import DivergedError
from incrt_cli.rundir import RunWriter, alone_in, describe_environment
from incrt_cli.training.budget import estimates, memory_json, too_large
from incrt_cli.training.checkpoint import Keeper, how_to_resume, origin_of, resumable
from incrt_cli.training.conditioning import conditioning_rows, sample
from incrt_cli.training.course import Snapshot
from incrt_cli.training.divergence import account
from incrt_cli.training.follow import Plan
from incrt_cli.training.interruption import Requests, listening
from incrt_cli.training.loop import Loop
from incrt_cli.training.prepare import Prepared, prediction_json, prepare
from incrt_cli.training.progress import Reporter
from incrt_cli.training.ranks import ALONE, Ranks
from incrt_cli.training.result import result_of
from incrt_cli.training.room import too_short

# From the run folder and the result about to be written: its tables as Markdown and CSV.
Summarise = Callable[[Path, Mapping[str, Any]], tuple[str, str]]


def train(
    config: Config,
    run_dir: Path | None,
    reporter: Reporter,
    summarise: Summarise,
    signals: bool = False,
    ranks: Ranks = ALONE,
) -> Path:
    """Train by `config`; returns the run folder. Raises UserError or, once training, DivergedError.

    With `signals` those of training/interruption.py are heard while it trains: then StoppedError too. Only
    the first of `ranks` calls it; the others `follow` (training/follow.py), and it may raise PeerError.
    """
    run = RunWriter.create(run_dir, config.name)
    with alone_in(run.path):
        try:
            ranks.share(Plan(run.path, config, None))
            prepared = prepare(config, reporter.say, ranks=ranks)
        except BaseException:
            run.discard()
            raise
        run.write_config(dump_config(config))
        loop = begin(run, prepared, reporter)
        return finish(run, prepared, loop, origin_of(prepared), reporter, summarise, signals)


def begin(run: RunWriter, prepared: Prepared, reporter: Reporter) -> Loop:
    """Write what a run folder holds before the first step; returns the loop that takes it."""
    config = prepared.config
    run.write_environment(
        describe_environment(
            str(prepared.device),
            torch.get_num_threads(),
            config.seed,
            prepared.data_sha256,
            prepared.ranks.size,
        )
    )
    run.write_data(_account(prepared))
    memory = estimates(prepared)
    run.write_prediction({**prediction_json(prepared.predictions), "memory": memory_json(memory)})
    loop = Loop(prepared, run, reporter)
    if warning := too_short(config, loop.stream):
        reporter.say(warning)
    if warning := too_large(prepared, memory):
        reporter.say(warning)
    _measure_conditioning(run, prepared, 0)
    return loop


def finish(
    run: RunWriter,
    prepared: Prepared,
    loop: Loop,
    origin: Mapping[str, Any],
    reporter: Reporter,
    summarise: Summarise,
    signals: bool,
) -> Path:
    """Train from where `loop` stands to the end, and write the rest of the run folder; returns it.

    `origin`: see training/checkpoint.py; checkpoints hold it.
    """
    try:
        with resumable(run.path), listening() if signals else nullcontext(Requests()) as requests:
            keeper = Keeper(run, prepared, loop, origin, requests, reporter.say)
            seconds = loop.run(after_step=keeper.after_step)
    except DivergedError as error:
        _write_model(run, prepared.tasks[-1], loop.last_good)
        run.write_divergence(account(run, loop, str(error)))
        prepared.ranks.wait()
        raise
    except KeyboardInterrupt:
        reporter.say(f"left at step {loop.steps}, without a checkpoint of it; {how_to_resume(run.path)}")
        raise
    _write_model(run, prepared.tasks[-1], loop.last_good)
    _measure_conditioning(run, prepared, loop.steps)
    result = result_of(prepared, loop, seconds, origin["parameters_start"], reporter.say)
    markdown, csv = summarise(run.path, result)
    run.write_text("report.md", markdown)
    run.write_text("report.csv", csv)
    run.write_result(result)
    return run.path


def _account(prepared: Prepared) -> Mapping[str, Any]:
    """The task's account, with that of the task after the shift below a key of its own."""
    later = {} if prepared.later is None else {"after_shift": prepared.later.summary}
    return {**prepared.task.summary, **later}


def _measure_conditioning(run: RunWriter, prepared: Prepared, step: int) -> None:
    if not prepared.config.conditioning.measured:
        return
    for row in conditioning_rows(prepared.model, sample(prepared.task, prepared.device), step):
        run.append_metrics(row)


def _write_model(run: RunWriter, task: Task, model: Snapshot) -> None:
    run.write_model(model.state, model.architecture, list(task.labels), dict(task.vocabulary))
