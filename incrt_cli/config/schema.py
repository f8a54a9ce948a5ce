"""The one typed schema of a config. Every key that a YAML file may hold is a field here.

Models are frozen and strict: a wrong type, an out-of-range value or an unknown key is an error.
Loading (YAML, overrides, messages) is `incrt_cli.config.load`.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

Positive = Annotated[int, Field(gt=0)]
Count = Annotated[int, Field(ge=0)]
Int32 = Annotated[int, Field(gt=0, le=2**31 - 1)]  # what compiled libraries take everywhere
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]  # what every library's generator takes
Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]
PositiveFloat = Annotated[float, Field(gt=0.0, le=1e37, allow_inf_nan=False)]  # fits float32


_LONGEST_PROTEIN_KMER = 3  # 8,000 tokens; 4 would be 160,000


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class _DataSection(Section):
    """Keys that every kind of data has."""

    validation_fraction: Fraction = 0.1
    test_fraction: Fraction = 0.1
    split_seed: Seed = 0
    min_class_size: Positive = 2
    permute_labels: bool = False  # a control: labels are shuffled once within each split
    cache_dir: str | None = None  # default: $XDG_CACHE_HOME/incrt
    max_tokens: Positive = 512
    too_long: Literal["error", "truncate", "window"] = "error"


def _checked_region(value: str | None) -> str | None:
    if value is None or re.fullmatch(r"[^:\s]+", value):
        return value
    match = re.fullmatch(r"(\d+):(\d+)", value)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(
            "expected start:end with 1 <= start <= end, for example 21563:25384, or the name of a gene"
        )
    return value


Region = Annotated[str, AfterValidator(_checked_region)]  # 1-based and inclusive, or a gene of data.genes


class Shift(Section):
    """METHOD §8: from a step on, training reads another distribution. Keys left out stay as they were."""

    at: Annotated[float, Field(gt=0.0, lt=1.0)]  # share of the run's steps

    @model_validator(mode="after")
    def _changes_something(self) -> Shift:
        if not self.changes():
            others = ", ".join(f"data.shift.{key}" for key in type(self).model_fields if key != "at")
            raise ValueError(f"data.shift changes nothing; give one of {others}")
        return self

    def changes(self) -> dict[str, object]:
        """Keys of the data section that differ from the step on."""
        return self.model_dump(exclude={"at"}, exclude_none=True)


class GenomeShift(Shift):
    region: Region | None = None  # the same genomes, read elsewhere


class SyntheticShift(GenomeShift):
    population_seed: Seed | None = None  # another reference and other variants, of the same names


class DialShift(Shift):
    fillers: Count | None = None
    dial_seed: Seed | None = None  # the same rule, drawn anew: a control, since nothing has changed


class _GenomeSection(_DataSection):
    """How a sequence becomes tokens."""

    encoding: Literal["kmer", "mutations"] = "kmer"
    k: Annotated[int, Field(ge=1, le=8)] = 6
    stride: Positive = 6
    region: Region | None = None  # "start:end", 1-based and inclusive, as in a GFF3; or a gene of data.genes
    # file: the FASTA is an alignment; None: minimap2 (or, for proteins, pairwise) where a reference is given
    alignment: Literal["none", "file", "reference"] | None = None
    gaps: Literal["unknown", "remove"] = "unknown"  # what a k-mer makes of "-"
    max_unknown: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0  # share of letters a record may lack
    min_frequency: Positive = 2  # of a mutation, over the training records; rarer ones are unknown
    workers: Count | None = None  # processes that align; None: one for each core
    shift: GenomeShift | None = None  # None: stationary

    @model_validator(mode="after")
    def _shift_keeps_the_vocabulary(self) -> _GenomeSection:
        if self.shift is not None and self.encoding == "mutations":
            raise ValueError(
                "data.shift needs data.encoding: kmer: mutations are numbered by the records that have them, "
                "so two populations do not share a vocabulary"
            )
        return self


class SyntheticData(_GenomeSection):
    """A seeded SARS-CoV-2-like population, written as FASTA + metadata and read back like any other."""

    kind: Literal["synthetic"]
    variants: Annotated[int, Field(ge=2)] = 6
    genomes: Positive = 1200
    genome_length: Annotated[int, Field(ge=200)] = 29903
    substitutions: Positive = 12  # per variant
    deletions: Count = 2  # per variant, each a multiple of 3 nt
    mutation_rate: Fraction = 0.0005  # per site and genome, beside the variant's own
    ambiguity_rate: Fraction = 0.0002
    n_runs: Count = 2
    population_seed: Seed = 0
    shift: SyntheticShift | None = None


class FastaData(_GenomeSection):
    """FASTA sequences joined to a metadata table."""

    kind: Literal["fasta"]
    sequences: str  # "-": standard input
    metadata: str
    alphabet: Literal["nucleotide", "protein"] = "nucleotide"
    label: str | None = None  # None: guessed, and said
    id: str | None = None
    id_match: Literal["loose", "literal"] = "loose"  # loose: spaces and _ aside where none is equal
    min_joined_fraction: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    reference: str | None = None  # FASTA with one record
    genes: str | None = None  # GFF3 in the reference's coordinates
    drop_labels: tuple[str, ...] = ()  # classes to leave out, such as "?" or "None"
    groups: str | None = None  # table of labels and their groups (lineage and WHO name, say)
    group: str | None = None  # its column with the groups; None: guessed, and said
    other_group: str | None = None  # name of the class of labels without a group; None: they are dropped
    predict: Literal["label", "group"] = "label"

    @property
    def aligned_by(self) -> Literal["none", "file", "reference"]:
        """`alignment`, with its default settled."""
        return self.alignment or ("none" if self.reference is None else "reference")

    @field_validator("drop_labels", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value  # YAML has no tuples

    @model_validator(mode="after")
    def _what_goes_together(self) -> FastaData:
        gene = self.region is not None and ":" not in self.region
        for wanted, needs, reason in (
            (self.encoding == "mutations", ("reference",), "data.encoding: mutations compares with it"),
            (self.alignment == "reference", ("reference",), "data.alignment: reference aligns to it"),
            (gene, _gene_needs(self), f"data.region: {self.region} is the name of a gene"),
            (self.predict == "group", ("groups",), "data.predict: group takes its classes from it"),
        ):
            missing = [f"data.{key}" for key in needs if getattr(self, key) is None]
            if wanted and missing:
                raise ValueError(f"{' and '.join(missing)} missing: {reason}")
        if self.aligned_by == "none" and (gene or self.encoding == "mutations"):
            what = f"region: {self.region}" if gene else "encoding: mutations"
            raise ValueError(f"data.{what} needs aligned sequences, and data.alignment is none")
        if self.alphabet == "protein" and self.encoding == "kmer" and self.k > _LONGEST_PROTEIN_KMER:
            raise ValueError(
                f"data.k = {self.k} with data.alphabet: protein would be 20^{self.k} tokens; at most "
                f"{_LONGEST_PROTEIN_KMER}"
            )
        return self


def _gene_needs(data: FastaData) -> tuple[str, ...]:
    # In an alignment file the columns are the coordinates, whatever they were aligned to.
    return ("genes",) if data.alignment == "file" else ("genes", "reference")


class TextData(_DataSection):
    """Labelled sentences: a local folder or file, or a Hub id read through `datasets`."""

    kind: Literal["text"]
    path: str | None = None  # a folder with train/dev(/test) files, or one file
    hub: str | None = None  # for example "nyu-mll/glue:sst2"
    text: str | None = None  # column names; None: guessed, and said
    label: str | None = None
    tokenizer: Literal["word", "subword"] = "word"
    vocabulary_size: Annotated[int, Field(ge=16, le=2**31 - 1)] = 16000
    min_frequency: Int32 = 1
    lowercase: bool = True

    @model_validator(mode="after")
    def _one_source(self) -> TextData:
        if (self.path is None) == (self.hub is None):
            raise ValueError("give exactly one of data.path and data.hub")
        return self


class DialData(_DataSection):
    """Sequences whose label takes a known number of content-based look-ups."""

    kind: Literal["dial"]
    lookups: Positive = 5
    fillers: Count = 4  # tokens of a sequence that say nothing
    examples: Positive = 6000
    dial_seed: Seed = 0
    shift: DialShift | None = None

    @field_validator("lookups")
    @classmethod
    def _no_draw(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("expected an odd number, so that a majority never ties")
        return value


class ComposeData(_DataSection):
    """Sequences whose label takes two look-ups, the second of what the first has found."""

    kind: Literal["compose"]
    keys: Annotated[int, Field(ge=2)] = 4  # that a query may ask for
    values: Annotated[int, Field(ge=2)] = 8  # that a key may lead to
    lean: Fraction = 0.5  # share of the second look-ups that lead from a value to itself
    examples: Positive = 12000
    compose_seed: Seed = 0


Data = Annotated[SyntheticData | FastaData | TextData | DialData | ComposeData, Field(discriminator="kind")]


class ModelSection(Section):
    # At least 2: a newborn head's motor has rank two (METHOD §4).
    width: Annotated[int, Field(ge=2)] = 64  # d
    head_width: Annotated[int, Field(ge=2)] = 16  # d_k
    value_width: Positive = 16  # d_v
    layers: Positive = 1
    heads: Positive = 1  # at the start; a static model keeps them
    ffn_multiplier: Annotated[float, Field(ge=0.0)] = 0.0  # 0: attention only
    dropout: Fraction = 0.0
    embedding_dropout: Fraction = 0.0
    positions: bool = True  # learned position embeddings
    layer_norm: bool = True  # false: blocks and read-out get the residual stream as it is
    pooling: Literal["mean", "first"] = "mean"  # what is read out: the tokens' mean, or the first token


class ConditioningSection(Section):
    """METHOD §9: a fixed correction of attention's projections."""

    method: Literal["none", "diagonal", "svd"] = "none"
    targets: Annotated[tuple[Literal["q", "k", "v"], ...], Field(min_length=1)] = ("v",)
    strength: PositiveFloat = 10.0  # lambda, of the diagonal
    measure: bool | None = None  # condition numbers and entropy; None: where something is conditioned

    @property
    def measured(self) -> bool:
        """`measure`, with its default settled."""
        return self.method != "none" if self.measure is None else self.measure

    @field_validator("targets", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value  # YAML has no tuples


class GateSection(Section):
    """METHOD §2-§4; the symbols are named there."""

    enabled: bool = True  # false: a static model
    variant: Literal["significance", "paper", "notebook"] = "significance"
    growth_fraction: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.10  # tau
    prune_ratio: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.5  # phi_g / theta_w
    threshold: Literal["initial", "current"] = "initial"
    birth: Literal["aligned", "random"] = "aligned"  # random: a control
    # level 2: a head that holds this share of lambda_max takes the plane, and none is born; None: never
    attribution: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    operator: bool = False  # fold G = I + g u+u+' - (1-g) u-u-' into a newborn's queries and keys
    birth_norm: PositiveFloat = 0.1  # Frobenius norm of a newborn's form M; notebook has its own
    check_every: Positive = 20  # steps; of paper and notebook
    observe_every: Positive = 2  # steps between updates of C; of paper and notebook
    dwell: Positive = 1  # checks between two births in a layer
    decay: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.98
    tracker: Literal["online", "exact"] = "online"
    step: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.9  # eta * Gamma
    tracker_iterations: Positive = 32  # per check
    confirm: bool = True
    certify_every: Positive = 5  # quiet checks between exact looks
    calibration_batches: Positive = 16
    prune_patience: Positive = 5  # checks
    prune_guard: PositiveFloat | None = 0.05  # nats on one batch; None: never undo
    max_heads: Positive | None = None  # per layer
    # significance alone: what a head that does not exist yet could do for rows that are not trained on
    probe_rows: Positive = 1024  # reserved while growth lasts, at most a fifth of the training records
    until: Annotated[float, Field(gt=0.0, le=1.0)] = 0.6  # of all steps: growth lasts so long
    search_rows: Annotated[int, Field(ge=2)] = 1024  # training rows that propose a direction
    critical_t: PositiveFloat = 2.5
    settle: Positive = 100  # steps that a newborn has at least; looks are half as far apart, or further
    solved: Fraction = 0.05  # of the loss before the first step: below, nothing is asked for any more
    progress: Fraction = 0.2  # the newest head has learnt when `settle` steps took less than this of the loss


class DepthSection(Section):
    """METHOD §7, level 3: layers on top of the ones at the start. Without effect where `gate` is off."""

    enabled: bool = False
    patience: Positive = 5  # checks without a change in the top layer
    energy: Annotated[float, Field(gt=0.0)] = 0.10  # theta_d / Gamma0 of that layer; not of significance
    productive: Fraction = 0.25  # captured share that it has at least; not of significance
    max_layers: Positive = 4


class TrainSection(Section):
    epochs: Annotated[float, Field(gt=0.0, le=1e6)] = 10.0  # may be fractional
    batch_size: Positive = 32
    accumulate: Positive = 1  # pieces of a step whose gradients are added up one after the other
    recompute: bool = False  # backward computes a layer's activations again: less memory, more time
    learning_rate: PositiveFloat = 1e-3
    warmup_fraction: Fraction = 0.05
    decay_fraction: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0  # of the rest; the rate falls in the last
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.01
    label_smoothing: Fraction = 0.0
    clip_norm: PositiveFloat = 1.0
    evaluate_every: PositiveFloat = 1.0  # epochs
    checkpoint_every: PositiveFloat | None = 1.0  # epochs, and the last step; None: when interrupted alone
    checkpoints_kept: Positive = 2  # the newest ones; each is about three times the model's size
    device: Literal["auto", "cpu", "cuda"] = "auto"
    # bfloat16: several times slower on a CPU without instructions for it
    precision: Literal["float32", "bfloat16"] = "float32"
    threads: Positive | None = None
    # torch.compile of the layers' training steps; does not pay on a CPU, and dropout draws other numbers
    compile: bool = False
    # torch refuses operations whose result may differ from run to run; slower on CUDA
    deterministic: bool = False
    frozen: bool = False  # a control: learning rate 0, while the gate looks and grows as ever
    complexity: bool = False  # METHOD §10 at every evaluation, which then reads the training split too

    @property
    def rows_at_once(self) -> int:
        """Rows of a step that one process alone passes through the model together, at most."""
        return math.ceil(self.batch_size / self.accumulate)


class Config(Section):
    name: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
            description="letters, digits, '.', '_' and '-' that begins with a letter or digit",
        ),
    ]
    seed: Seed = 0
    baseline: bool = True  # also fit TF-IDF + logistic regression on the same split
    data: Data
    model: ModelSection = ModelSection()
    conditioning: ConditioningSection = ConditioningSection()
    gate: GateSection = GateSection()
    depth: DepthSection = DepthSection()
    train: TrainSection = TrainSection()
