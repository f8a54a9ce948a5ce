"""`incrt data`: data sets that incrt can make, fetch and check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrt_cli.cli.data_check import check
from incrt_cli.cli.data_fetch import fetch
from incrt_cli.errors import UserError

app = typer.Typer(
    help="Check, fetch and make data sets.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)


app.command()(check)
app.command()(fetch)


@app.command()
def synth(
    out_dir: Annotated[
        Path, typer.Argument(metavar="OUT_DIR", help="Folder for sequences.fasta and metadata.tsv.")
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="data.* keys, for example data.variants=12."),
    ] = None,
) -> None:
    """Write a seeded SARS-CoV-2-like population as FASTA and GISAID-style metadata."""
    from incrt_cli.config.load import load_config
    from incrt_cli.config.schema import SyntheticData
    from incrt_cli.data.synthetic import FILES, write_population

    data = load_config(None, overrides or [], {"name": "synth", "data": {"kind": "synthetic"}}).data
    if not isinstance(data, SyntheticData):
        raise UserError(f"data.kind is {data.kind!r}; only a synthetic population can be written")
    for name in FILES:
        if (out_dir / name).exists():
            raise UserError(f"{(out_dir / name).absolute()} is there already: give another folder")
    paths = write_population(data, out_dir)
    typer.echo(f"wrote {data.genomes:,} genomes of {data.variants:,} variants:")
    for key, path in zip(("sequences", "metadata", "reference", "genes"), paths, strict=True):
        typer.echo(f"  data.{key}={path}")
    typer.echo("  data.label=Variant")
