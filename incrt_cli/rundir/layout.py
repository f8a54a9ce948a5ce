"""Names of the files of a run folder, in the order in which a run writes them."""

from __future__ import annotations

CONFIG = "config.yaml"
ENVIRONMENT = "environment.json"
DATA = "data.json"
PREDICTION = "prediction.json"
EVENTS = "events.jsonl"
METRICS = "metrics.jsonl"
RESULT = "result.json"  # last: its presence marks a finished run

MODEL_FOLDER = "model"
WEIGHTS = "model.safetensors"
ARCHITECTURE = "architecture.json"
LABELS = "labels.json"
VOCABULARY = "vocabulary.json"

DIVERGENCE = "divergence.json"  # of a run that met a number that is not finite
CHECKPOINTS = "checkpoints"  # step-N, each with
TENSORS = "tensors.safetensors"
STATE = "state.json"
MARK = "SHA256SUMS"  # last: its presence marks a complete one
