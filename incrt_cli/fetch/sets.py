"""A data set by name: all of its files in a folder of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from incrt_cli.fetch.catalogue import DataFile, DataSet
from incrt_cli.fetch.download import Downloader, Fetched
from incrt_cli.fetch.hub import fetch_glue
from incrt_cli.fetch.problems import NotThereError

Say = Callable[[str], None]


class Setting(NamedTuple):
    """A line for a config, and the files that it stands for (those of the Hub keep no address)."""

    key: str
    path: Path
    file: Fetched | None = None


def fetch_set(
    dataset: DataSet,
    folder: Path,
    downloader: Downloader,
    say: Say,
    load_dataset: Callable[..., Any] | None = None,
) -> list[Setting]:
    """Fetch `dataset` into folder/dataset.folder. Raises UserError as `Downloader.fetch` does."""
    home = folder.absolute() / dataset.folder
    if dataset.hub is not None:
        fetch_glue(dataset.hub, home, say, load_dataset)
        return [Setting("data.path", home)]
    settings = []
    for wanted in dataset.files:
        file = _first_there(wanted, home, downloader)
        settings.append(Setting(wanted.key, file.path, file))
    return settings


def _first_there(wanted: DataFile, home: Path, downloader: Downloader) -> Fetched:
    refusals = []
    for remote in wanted.choices:
        # Each address is asked once, and only as far as needed: there is no listing to look it up in.
        try:
            return downloader.fetch(remote, home)
        except NotThereError as error:
            refusals.append(str(error))
    raise NotThereError("\n".join(refusals))
