"""Small stand-ins for the data that the shipped configs and the README name, and how to shrink a run."""

from __future__ import annotations

import random
import tarfile
from pathlib import Path

from incrt_cli.config.schema import SyntheticData
from incrt_cli.data.synthetic import write_population

SMALL_RUN = [
    "model.width=16", "model.head_width=4", "model.value_width=4", "gate.calibration_batches=2",
    "gate.check_every=2", "train.epochs=0.5", "train.batch_size=16", "train.device=cpu", "train.threads=1",
]  # fmt: skip
SMALL_GENOMES = ["data.variants=3", "data.genomes=120"]
FEW_EXAMPLES = ["data.examples=600"]


def make_data(folder: Path) -> None:
    """`folder`/data as the README describes it: GISAID's two archives, a reference, an SST-2 folder."""
    (folder / "data" / "sst2").mkdir(parents=True)
    population = SyntheticData(kind="synthetic", variants=3, genomes=120)
    sequences, metadata, reference, genes = write_population(population, folder / "download")
    (folder / "data" / "sars-cov-2-reference").mkdir()
    for path in (reference, genes):
        path.rename(folder / "data" / "sars-cov-2-reference" / f"MN908947.3{path.suffix}")
    for source, name in ((sequences, "sequences_fasta"), (metadata, "metadata_tsv")):
        with tarfile.open(folder / "data" / f"{name}.tar.xz", "w:xz") as archive:
            archive.add(source, arcname=source.name)
    for name, count, seed in (("train", 200, 0), ("dev", 40, 1)):
        (folder / "data" / "sst2" / f"{name}.tsv").write_text(_reviews(count, seed))


def shrink(arguments: list[str]) -> list[str]:
    """A command line of the README, made small where it trains."""
    if arguments[:1] == ["diagnose"]:
        arguments = [*arguments, "--planes", "3", "--steps", "2", "--draws", "1"]
    if arguments[:1] == ["bench"]:
        arguments = [*arguments, "--quick"]
    trains = arguments[0] in ("train", "sweep", "predict-heads", "diagnose", "bench") and any(
        a.endswith(".yaml") for a in arguments
    )
    if not trains:
        return arguments
    made = any(name in a for a in arguments for name in ("synthetic", "shift"))
    synthetic = SMALL_GENOMES if made else []
    drawn = FEW_EXAMPLES if any("compose" in a for a in arguments) else []
    if arguments[0] == "sweep":
        # Two cells: the seeds of one setting.
        arguments = ["seed=0,1" if a.startswith("seed=") else a.partition(",")[0] for a in arguments]
    if "--pilot-steps" in arguments:
        arguments[arguments.index("--pilot-steps") + 1] = "3"
    if "--seeds" in arguments:
        arguments[arguments.index("--seeds") + 1] = "0"
    return [*arguments, *SMALL_RUN, *synthetic, *drawn]


def _reviews(count: int, seed: int) -> str:
    chance = random.Random(seed)
    rows = []
    for _ in range(count):
        label = chance.randrange(2)
        words = [chance.choice(["fine", "warm"] if label else ["dull", "cold"])]
        words += [f"w{chance.randrange(60)}" for _ in range(chance.randrange(1, 8))]
        rows.append(f"{' '.join(words)} \t{label}")
    return "\n".join(["sentence\tlabel", *rows]) + "\n"
