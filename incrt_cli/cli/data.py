"""`incrt data`: data sets that incrt can make."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrt_cli.errors import UserError

app = typer.Typer(help="Make data sets.", no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Make data sets."""  # a callback keeps the one command below a verb of its own


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
    from incrt_cli.data.synthetic import METADATA, SEQUENCES, write_population

    data = load_config(None, overrides or [], {"name": "synth", "data": {"kind": "synthetic"}}).data
    if not isinstance(data, SyntheticData):
        raise UserError(f"data.kind is {data.kind!r}; only a synthetic population can be written")
    for name in (SEQUENCES, METADATA):
        if (out_dir / name).exists():
            raise UserError(f"{(out_dir / name).absolute()} is there already: give another folder")
    sequences, metadata = write_population(data, out_dir)
    typer.echo(f"wrote {data.genomes:,} genomes of {data.variants:,} variants:")
    typer.echo(f"  data.sequences={sequences}\n  data.metadata={metadata}\n  data.label=Variant")
