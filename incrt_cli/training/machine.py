"""How much memory there is for this process: the one place that asks the system."""

from __future__ import annotations

import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

_ROOT = Path("/")
_NUMBER = re.compile("[0-9]{1,20}")  # of 64 bits; where there is no limit a word stands instead
# Limit, use, and the line of memory.stat that a kernel takes back when asked to, in versions 2 and 1.
_FILES = {
    "sys/fs/cgroup": ("memory.max", "memory.current", "inactive_file"),
    "sys/fs/cgroup/memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def available_bytes(device: torch.device, root: Path = _ROOT) -> int | None:
    """What `device` can still give to this process; None where the system does not say.

    On a CPU the least of what the machine, the control groups and a limited address space leave.
    """
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + unused
    found = [*_machine(root), *_groups(root), *_address_space(root)]
    return max(min(found), 0) if found else None


def peak_mib() -> float:
    """The most that this process has held resident so far, in MiB; it never falls again."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def _machine(root: Path) -> Iterator[int]:
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _read(root / "proc/meminfo"), re.MULTILINE)
    if found:
        yield 1024 * int(found[1])


def _groups(root: Path) -> Iterator[int]:
    """Of the group of this process, and of those above it, whichever have a limit."""
    found = _read(root / "proc/self/cgroup")
    lines = re.findall(r"^\d+:([^:\n]*):/(.*)$", found, re.MULTILINE | re.ASCII)
    for base, names in _FILES.items():
        controller = "memory" if base.endswith("memory") else ""
        own = next((path for kinds, path in lines if controller in kinds.split(",")), None)
        if own is None:
            continue
        # A container sees its own group at the root, whatever its name outside.
        group = Path(own)
        for place in (group, *group.parents):
            yield from _group(root / base / place, *names)


def _group(folder: Path, limit: str, use: str, reclaimable: str) -> Iterator[int]:
    most, used = (_NUMBER.fullmatch(_read(folder / name).strip()) for name in (limit, use))
    if most and used:
        back = re.search(rf"^{reclaimable} ([0-9]{{1,20}})$", _read(folder / "memory.stat"), re.MULTILINE)
        yield int(most[0]) - int(used[0]) + (int(back[1]) if back else 0)


def _address_space(root: Path) -> Iterator[int]:
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    found = re.search(r"^VmSize:\s+(\d+) kB", _read(root / "proc/self/status"), re.MULTILINE)
    if most != resource.RLIM_INFINITY and found:
        yield most - 1024 * int(found[1])


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except (OSError, ValueError):  # a path with a zero byte is the latter
        return ""
