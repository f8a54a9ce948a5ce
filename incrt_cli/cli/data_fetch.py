"""`incrt data fetch`: public data sets by name, or any file by its address."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrt_cli.errors import UserError

if TYPE_CHECKING:
    from incrt_cli.fetch.catalogue import DataSet, Remote
    from incrt_cli.fetch.sets import Setting

_ADDRESS = "://"


def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME|URL...", help="What to fetch; see --list.")
    ] = None,
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Where the files go.")] = Path("data"),
    sha256: Annotated[
        str | None, typer.Option("--sha256", metavar="HEX", help="What the file of the one URL must hash to.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the names, their files and terms.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Fetch public data sets, and print the config keys they are for.

    Interrupted downloads go on where they stopped; finished ones are fetched again only when they changed.
    """
    if list_:
        _show_list(json)
        return
    if not names:
        raise UserError("nothing to fetch: give names (`incrt data fetch --list` shows them) or addresses")
    if sha256 is not None and (len(names) != 1 or _ADDRESS not in names[0]):
        raise UserError("--sha256 goes with one address")
    settings = _fetch_all(names, to, sha256)
    if json:
        typer.echo(json_module.dumps([_as_json(setting) for setting in settings], indent=2))
    else:
        typer.echo("\n".join(f"{setting.key}={setting.path}" for setting in settings))


def _fetch_all(names: list[str], to: Path, sha256: str | None) -> list[Setting]:
    from incrt_cli.fetch.catalogue import Bases, find_set, remote_of
    from incrt_cli.fetch.download import Downloader

    # All names before the first download: a slip in the last one is not to be found out hours later.
    wanted = [
        remote_of(name, sha256) if _ADDRESS in name else find_set(name, Bases())
        for name in dict.fromkeys(names)
    ]
    downloader = Downloader(_say)
    return [setting for one in wanted for setting in _fetch_one(one, to, downloader)]


def _fetch_one(wanted: Remote | DataSet, to: Path, downloader: Any) -> list[Setting]:
    from incrt_cli.fetch.catalogue import DataSet
    from incrt_cli.fetch.content import config_key
    from incrt_cli.fetch.sets import Setting, fetch_set

    if isinstance(wanted, DataSet):
        return fetch_set(wanted, to, downloader, _say)
    file = downloader.fetch(wanted, to)
    return [Setting(config_key(file.path.name), file.path, file)]


def _show_list(json: bool) -> None:
    from incrt_cli.fetch.catalogue import ANY_PATHOGEN, EXAMPLES, Bases, named_sets, pathogen_set

    sets = named_sets(Bases())
    sets.append(pathogen_set("PATHOGEN", Bases())._replace(name=ANY_PATHOGEN))
    rows: list[dict[str, Any]] = [
        {
            "name": one.name,
            "what": one.what,
            "terms": one.terms,
            "size": one.size or "unknown",
            "files": [file.choices[0].name for file in one.files] or ["train.tsv", "dev.tsv"],
        }
        for one in sets
    ]
    rows[-1]["what"] += f" ({', '.join(EXAMPLES)}, …)"
    typer.echo(json_module.dumps(rows, indent=2, ensure_ascii=False) if json else _as_text(rows))


def _as_text(rows: list[dict[str, Any]]) -> str:
    blocks = [
        f"{row['name']}\n  what   {row['what']}\n  size   {row['size']}\n"
        f"  files  {', '.join(row['files'])}\n  terms  {row['terms']}"
        for row in rows
    ]
    return "\n\n".join(blocks)


def _as_json(setting: Setting) -> dict[str, Any]:
    known = setting.file._asdict() if setting.file else {}
    return {"key": setting.key, **known, "path": str(setting.path)}


def _say(line: str) -> None:
    typer.echo(line, err=True)
