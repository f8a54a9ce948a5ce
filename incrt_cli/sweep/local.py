"""Cells in processes of this machine, a fixed number at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Thread

from incrt_cli.errors import UserError
from incrt_cli.sweep.engine import Ended, Ends, Job, Train, attempt

# What OpenMP, MKL and OpenBLAS read when they are loaded: later is too late for some of them.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class LocalEngine:
    """`workers` processes at a time, each with `threads` threads where its config sets no other number."""

    workers: int
    threads: int

    def run(self, jobs: Sequence[Job], train: Train) -> Ends:
        """See `Engine`. A process that is killed costs its own job."""
        waiting = deque(jobs)
        running: dict[Connection, tuple[Job, SpawnProcess]] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    job = waiting.popleft()
                    answers, process = self._started(job, train)
                    running[answers] = (job, process)
                # Ready with an answer, or closed because the process is gone.
                for answers in [found for found in wait(list(running)) if isinstance(found, Connection)]:
                    job, process = running[answers]
                    ended = _ended(answers, process)
                    del running[answers]
                    yield job, ended
        finally:
            _stop([process for _, process in running.values()])

    def _started(self, job: Job, train: Train) -> tuple[Connection, SpawnProcess]:
        # spawn: a fork of a process that runs threads may deadlock, and torch would have its threads already.
        context = multiprocessing.get_context("spawn")
        answers, sender = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(job, train, sender), name=job.name)
        with _environment(self.threads):
            process.start()
        sender.close()  # the child's is the only one left, so that its death closes the pipe
        return answers, process


def _work(job: Job, train: Train, sender: Connection) -> None:
    # Ctrl-C reaches a terminal's whole group. Here the parent passes it on, once: a second one would end
    # the run without a checkpoint.
    os.setpgid(0, 0)
    Thread(target=_follow_parent, daemon=True).start()
    ended = attempt(job, train)
    with suppress(BrokenPipeError):  # nobody is left to hear it
        sender.send(ended)


def _follow_parent() -> None:
    """Ask this process to stop when its parent is gone, however that went."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _ended(answers: Connection, process: SpawnProcess) -> Ended:
    try:
        ended = answers.recv()
    except EOFError:
        ended = None
    process.join()
    answers.close()
    if isinstance(ended, Ended):
        return ended
    code = process.exitcode or 0
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    hint = "; perhaps for want of memory: a smaller --workers needs less" if code == -signal.SIGKILL else ""
    return Ended(UserError(f"its process {how}{hint}"))


def _stop(processes: Sequence[SpawnProcess]) -> None:
    """Ask every process to stop, which saves a checkpoint, and wait; a second Ctrl-C does not."""
    try:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
    except KeyboardInterrupt:
        for process in processes:
            process.kill()
        raise


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
