"""What a run was made with: enough to make it again."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import incrt_cli
from incrt_cli.rundir.plain import utc_now

_LIBRARIES = (
    "torch", "numpy", "datasets", "pyarrow", "pandas", "tokenizers", "safetensors",
    "scikit-learn", "biopython", "mappy", "xxhash", "pydantic", "PyYAML",
)  # fmt: skip
_PACKAGE = Path(incrt_cli.__file__).parent
_GIT_SECONDS = 10


def describe_environment(
    device: str, threads: int | None, seed: int, data_sha256: Mapping[str, str], processes: int = 1
) -> dict[str, Any]:
    """The content of `environment.json`; `data_sha256` maps an input file to the hash of its bytes;
    `processes` is how many train together.

    What cannot be found out (no GPU, no git, not a checkout) is None; nothing here fails for it.
    """
    return {
        "incrt": incrt_cli.__version__,
        "python": platform.python_version(),
        "libraries": library_versions(),
        "platform": platform.platform(),
        "cpu": _cpu_name(),
        "cpu_count": os.cpu_count(),
        "gpu": _gpu_name(),
        "git": _git_state(_PACKAGE),
        "command": shlex.join(sys.argv),
        "device": device,
        "threads": threads,
        "processes": processes,
        "seed": seed,
        "data_sha256": dict(data_sha256),
        "started_at": utc_now(),
    }


def library_versions() -> dict[str, str | None]:
    """Versions of the libraries that a result may depend on; None of one that is not installed."""
    return {name: _version(name) for name in _LIBRARIES}


def _version(distribution: str) -> str | None:
    if distribution == "torch":
        import torch

        # Its metadata may leave out which build it is, such as +cu130.
        return str(torch.__version__)
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _cpu_name() -> str | None:
    # Linux leaves `platform.processor()` empty or at the bare architecture.
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, None) or platform.processor() or platform.machine() or None


def _gpu_name() -> str | None:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def _git_state(package: Path) -> dict[str, Any] | None:
    """Commit of the checkout that holds `package`, and whether the package differs from it."""
    # An installed copy may lie inside some other project's checkout, whose commit says nothing of ours.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit = _git(package, "rev-parse", "HEAD")
    changes = _git(package, "status", "--porcelain", "--", ".")
    if commit is None or changes is None:
        return None
    return {"commit": commit, "dirty": bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    """Output of a git command run in `folder`; None if it fails in any way."""
    # GIT_DIR and its like, set inside a hook, would point at another repository.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env=inherited | {"GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip()
