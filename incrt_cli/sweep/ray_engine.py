"""Cells as tasks of a Ray cluster: the one place where Ray is imported, and only when it is asked for."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incrt_cli.errors import UserError
from incrt_cli.sweep.engine import Ended, Ends, Job, Train, attempt

LOCAL = "local"
_PATIENCE = 10.0  # seconds for a cluster to answer
_RETRIES = 2  # of a task whose process or node was lost; it goes on from the last checkpoint


@dataclass(frozen=True)
class RayEngine:
    """`address` of a running cluster, or "local" for one of `workers` cells here; `threads` cores a cell.

    Every node must see the run folders, the data and this working folder under the same paths.
    """

    address: str
    threads: int
    workers: int

    def __post_init__(self) -> None:
        _ray()  # where it is not installed, nothing has been made yet

    def run(self, jobs: Sequence[Job], train: Train) -> Ends:
        """See `Engine`. A lost process is tried again by Ray before its job counts as failed."""
        if not jobs:
            return
        ray = _ray()
        ours = not ray.is_initialized()
        if ours:
            _connect(ray, self.address, self.workers * self.threads)
        gpus = ray.cluster_resources().get("GPU", 0)
        task = ray.remote(_work)
        running: dict[Any, Job] = {}
        try:
            for job in jobs:
                options = task.options(
                    num_cpus=self.threads,
                    # Ray hides the GPUs of a node from a task that asks for none.
                    num_gpus=int(_wants_gpu(job, gpus)),
                    max_retries=_RETRIES,
                    name=job.name,
                )
                running[options.remote(job, train, os.getcwd())] = job
            while running:
                (reference,), _ = ray.wait(list(running), num_returns=1)
                ended = _ended(ray, reference)
                yield running.pop(reference), ended
        finally:
            for reference in running:
                ray.cancel(reference)  # as Ctrl-C would: a run saves a checkpoint first
            if running:
                ray.wait(list(running), num_returns=len(running))
            if ours:
                ray.shutdown()


def _work(job: Job, train: Train, folder: str) -> Ended:
    """The task. Its errors come back as values, so that Ray repeats lost processes alone."""
    try:
        os.chdir(folder)  # data of a config may lie below it
    except OSError as error:
        return Ended(UserError(f"{os.uname().nodename}: cannot enter {folder}: {error.strerror}"))
    if not Path(job.folder).parent.is_dir():
        return Ended(
            UserError(f"{os.uname().nodename} does not see {job.folder.parent}; share it with all nodes")
        )
    return attempt(job, train)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UserError("--ray needs Ray, which is not installed: pip install 'incrt[ray]'") from error
    return ray


def _connect(ray: Any, address: str, cores: int) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing about a user's runs is sent anywhere
    _reach(address)
    own = {"include_dashboard": False, "num_cpus": cores} if address == LOCAL else {}
    try:
        ray.init(address=address, log_to_driver=False, **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UserError(f"--ray {address}: {str(error).splitlines()[0]}") from error


def _reach(address: str) -> None:
    """Raises UserError where nobody listens at HOST:PORT; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise UserError(f"--ray {address}: no answer ({error})") from error


def _wants_gpu(job: Job, gpus: float) -> bool:
    device = job.config.train.device
    return device == "cuda" or (device == "auto" and gpus > 0)


def _ended(ray: Any, reference: Any) -> Ended:
    try:
        ended = ray.get(reference)
    except ray.exceptions.RayError as error:  # lost more often than it is tried again
        return Ended(UserError(f"lost by Ray: {str(error).splitlines()[0]}"))
    return ended if isinstance(ended, Ended) else Ended(UserError(f"Ray returned {ended!r}"))
