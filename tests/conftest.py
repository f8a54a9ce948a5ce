"""What every test gets: a cache folder of its own, no network, and torch as it starts up with one thread."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine is no failure: how long one example takes is not what these tests are about.
settings.register_profile("incrt", deadline=None)
settings.load_profile("incrt")

# Before anything imports `datasets`: a test that asks the Hub must fail, not wait.
os.environ["HF_HUB_OFFLINE"] = "1"

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True, scope="session")
def no_user_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fixtures of modules and classes run before those of a test: they too stay out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache-of-fixtures")))
        yield


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds what another one left."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(autouse=True)
def steady_torch() -> None:
    """Every test starts from the same torch: one thread, and numbers as IEEE 754 has them.

    Workers of pytest-xdist share the cores. A training run makes the process flush denormal numbers to
    zero, which would reach the next test, and Hypothesis refuses to draw floats then.
    """
    torch = sys.modules.get("torch")  # tests without torch need not import it
    if torch is not None:
        torch.set_num_threads(1)
        torch.set_flush_denormal(False)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, or a skip that says where it was looked for."""
    folder = Path(os.environ.get("INCRT_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set INCRT_SHARED_DATA")
    return folder
