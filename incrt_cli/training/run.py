"""A whole run: prepare, predict, train, certify, test, and write the run folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from incrt_cli.config.load import dump_config
from incrt_cli.config.schema import Config
from incrt_cli.data.task import Task
from incrt_cli.errors import DivergedError
from incrt_cli.model.classifier import count_parameters
from incrt_cli.rundir import RunWriter, alone_in, describe_environment, utc_now
from incrt_cli.training.baseline import tfidf_logistic_regression
from incrt_cli.training.budget import estimates, memory_json, too_large
from incrt_cli.training.checkpoint import Keeper, how_to_resume, origin_of, resumable
from incrt_cli.training.conditioning import conditioning_rows, sample
from incrt_cli.training.course import Snapshot
from incrt_cli.training.divergence import account
from incrt_cli.training.evaluation import Predictions, class_scores, macro_f1, predict
from incrt_cli.training.follow import Plan
from incrt_cli.training.interruption import Requests, listening
from incrt_cli.training.loop import Loop
from incrt_cli.training.prepare import Prepared, prediction_json, prepare
from incrt_cli.training.progress import Reporter
from incrt_cli.training.ranks import ALONE, Ranks
from incrt_cli.training.room import too_short
from incrt_cli.training.stream import POPULATIONS

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
    result = _result(prepared, loop, seconds, origin["parameters_start"], reporter)
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


def _result(
    prepared: Prepared, loop: Loop, seconds: float, parameters_start: int, reporter: Reporter
) -> dict[str, Any]:
    # The model is what it was trained on last; how it does on the population before is told apart.
    config, model, task = prepared.config, prepared.model, prepared.tasks[-1]
    tested = predict(model, task.splits["test"], config.train, prepared.device)
    baseline = None
    if config.baseline and len(tested.truth) > 0:
        reporter.say("fitting the baseline, TF-IDF + logistic regression (baseline=false skips it)")
        baseline = tfidf_logistic_regression(task, config.seed)
    kinds = Counter(event.kind for event in loop.course.events)
    return {
        "status": "complete",
        "finished_at": utc_now(),
        "first_step_at": loop.course.first_step_at,
        "seed": config.seed,
        **_scores(tested, list(task.labels)),
        "baseline": asdict(baseline) if baseline else None,
        "heads": sum(model.head_counts),
        "heads_per_layer": model.head_counts,
        "layers": len(model.head_counts),
        "layers_start": config.model.layers,
        "layer_steps": [event.step for event in loop.course.events if event.kind == "layer"],
        "births": kinds["birth"],
        "captures": kinds["capture"],  # planes taken by heads that were there
        "prunes": kinds["prune"],
        "parameters": count_parameters(model),
        "parameters_start": parameters_start,
        "steps": loop.steps,
        "total_steps": loop.total_steps,
        "seconds": seconds,
        "padding": prepared.padding,
        "steps_per_second": loop.steps / max(seconds, 1e-9),
        "permuted_labels": config.data.permute_labels,
        "growing": config.gate.enabled,
        "compiled": prepared.compiled is not None,
        # Of this process: a resumed run compiles anew what it needs.
        "recompilations": None if prepared.compiled is None else max(prepared.compiled.compilations - 1, 0),
        **_shift(prepared, loop, tested),
        **_growth(prepared, loop),
    }


def _scores(tested: Predictions, labels: list[str]) -> dict[str, Any]:
    scores = class_scores(tested.truth, tested.predicted, labels)
    unseen = ~tested.seen
    hits = tested.truth == tested.predicted
    if not len(hits):  # data.test_fraction: 0
        return {"accuracy": None, "macro_f1": None, "test_loss": None, "test_records": 0}
    return {
        "accuracy": tested.accuracy,
        "macro_f1": macro_f1(scores),
        "test_loss": tested.loss,
        "test_records": len(hits),
        "majority_accuracy": max(score.support for score in scores) / len(hits),
        "unseen": {
            "records": int(unseen.sum()),
            "accuracy": float(hits[unseen].mean()) if unseen.any() else None,
        },
        "per_class": [asdict(score) for score in scores],
    }


def _shift(prepared: Prepared, loop: Loop, tested: Predictions) -> dict[str, Any]:
    """When the distribution changed, and the test scores on both sides; nothing for a stationary run."""
    if prepared.later is None:
        return {}
    config, split = prepared.config, prepared.task.splits["test"]
    before = predict(prepared.model, split, config.train, prepared.device)
    scores = {
        name: {"accuracy": found.accuracy, "test_loss": found.loss, "test_records": len(found.truth)}
        for name, found in zip(POPULATIONS, (before, tested), strict=True)
        if len(found.truth)
    }
    return {"shift": {"step": loop.stream.shift_step, "populations": scores}}


def _growth(prepared: Prepared, loop: Loop) -> dict[str, Any]:
    """Certificates, and what they say together; all null for a static model."""
    certificates = prepared.controller.certify() if prepared.controller else []
    deep_enough = prepared.controller.deep_enough if prepared.controller else None
    steps = [event.step for event in loop.course.events if event.kind != "prune_undone"]

    def everywhere(test: str) -> bool | None:
        found = [getattr(c, test) for c in certificates]
        return None if not found or None in found else all(found)

    return {
        "certificate": [asdict(certificate) for certificate in certificates],
        "sufficient": everywhere("sufficient"),
        "minimal": everywhere("minimal"),
        "deep_enough": deep_enough,
        "stopped_by_itself": everywhere("stopped_by_itself") and deep_enough is not False,
        "last_event_step": max(steps, default=None),
    }
