"""What every test gets: a cache folder of its own, no network, and one quiet torch thread."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine is no failure: how long one example takes is not what these tests are about.
settings.register_profile("incrt", deadline=None)
settings.load_profile("incrt")

# Before anything imports `datasets`: a test that asks the Hub must fail, not wait.
os.environ["HF_HUB_OFFLINE"] = "1"

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or leaves anything in the user's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(autouse=True, scope="session")
def steady_torch() -> None:
    """Workers of pytest-xdist share the cores; denormal numbers would make tiny models crawl.

    For the whole session, as fixtures of modules and classes run before those of a test.
    """
    torch = sys.modules.get("torch")  # imported by now if a test module needs it
    if torch is not None:
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, or a skip that says where it was looked for."""
    folder = Path(os.environ.get("INCRT_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set INCRT_SHARED_DATA")
    return folder
