"""What a finished run has come to: scores on the test split, size, speed, and what its gates certify."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from incrt_cli.model.classifier import count_parameters
from incrt_cli.rundir import utc_now
from incrt_cli.training.baseline import tfidf_logistic_regression
from incrt_cli.training.evaluation import Predictions, class_scores, macro_f1, predict
from incrt_cli.training.loop import Loop
from incrt_cli.training.prepare import Prepared
from incrt_cli.training.stream import POPULATIONS


def result_of(
    prepared: Prepared, loop: Loop, seconds: float, parameters_start: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """JSON-able; `seconds` of training began with `parameters_start` parameters."""
    # The model is what it was trained on last; how it does on the population before is told apart.
    config, model, task = prepared.config, prepared.model, prepared.tasks[-1]
    tested = predict(model, task.splits["test"], config.train, prepared.device)
    return {
        "status": "complete",
        "finished_at": utc_now(),
        "first_step_at": loop.course.first_step_at,
        "seed": config.seed,
        **_scores(tested, list(task.labels)),
        "baseline": _baseline(prepared, tested, say),
        **_size(prepared, loop, parameters_start),
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


def _baseline(prepared: Prepared, tested: Predictions, say: Callable[[str], None]) -> dict[str, Any] | None:
    if not prepared.config.baseline or not len(tested.truth):
        return None
    say("fitting the baseline, TF-IDF + logistic regression (baseline=false skips it)")
    return asdict(tfidf_logistic_regression(prepared.tasks[-1], prepared.config.seed))


def _size(prepared: Prepared, loop: Loop, parameters_start: int) -> dict[str, Any]:
    """Heads, layers and parameters, and the events that led to them."""
    heads = prepared.model.head_counts
    kinds = Counter(event.kind for event in loop.course.events)
    return {
        "heads": sum(heads),
        "heads_per_layer": heads,
        "layers": len(heads),
        "layers_start": prepared.config.model.layers,
        "layer_steps": [event.step for event in loop.course.events if event.kind == "layer"],
        "births": kinds["birth"],
        "captures": kinds["capture"],  # planes taken by heads that were there
        "prunes": kinds["prune"],
        "parameters": count_parameters(prepared.model),
        "parameters_start": parameters_start,
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
