"""What can be fetched by name: files, the config keys they are for, and on whose terms they are given."""

from __future__ import annotations

import difflib
import posixpath
import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from incrt_cli.errors import UserError
from incrt_cli.fetch.exchange import checked_url

REFERENCE_MD5 = "105c82802b67521950854a851fc6eefd"  # of the 29,903 upper-case letters of MN908947.3


class Bases(NamedTuple):
    """Where the servers are; tests give addresses of their own."""

    nextstrain: str = "https://data.nextstrain.org/files"
    entrez: str = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/efetch.fcgi"
    viewer: str = "https://www.ncbi.nlm.nih.gov/sviewer/viewer.cgi"


class Remote(NamedTuple):
    """One file of a server, the name it gets here, and what is known of its content beforehand."""

    url: str
    name: str
    sha256: str | None = None
    sequence_md5: str | None = None  # of the one sequence in a FASTA file, upper case, white space removed


class DataFile(NamedTuple):
    """The config key a file is for, and its remotes in order of preference: the first that exists is it."""

    key: str
    choices: tuple[Remote, ...]


class DataSet(NamedTuple):
    name: str
    what: str
    terms: str
    size: str
    files: tuple[DataFile, ...] = ()
    hub: str | None = None  # repo:config of the Hugging Face Hub, instead of files

    @property
    def folder(self) -> str:
        return re.sub(r"[:/]", "-", self.name)


_GENBANK = "NCBI puts no restrictions on use; cite the submitters"
_OPEN = "GenBank (no restrictions by NCBI) and Robert Koch-Institut (CC BY 4.0); acknowledge the submitters"
_MIXED = "GenBank and partly Pathoplexus: see the metadata's columns on data use terms; cite the submitters"
_SST = "Stanford Sentiment Treebank through GLUE: its authors' terms; cite Socher et al. 2013"
_PATHOGEN = re.compile(r"nextstrain:([A-Za-z0-9][\w-]*(?:/[A-Za-z0-9][\w-]*)*)")
ANY_PATHOGEN = "nextstrain:PATHOGEN[/SUB]"
EXAMPLES = ("mpox", "zika", "measles", "dengue/all", "rsv/a", "avian-flu/h5n1/ha")


def named_sets(bases: Bases) -> list[DataSet]:
    """Every set that has a name of its own."""
    accession = "MN908947.3"
    fasta = Remote(
        f"{bases.entrez}?db=nuccore&id={accession}&rettype=fasta",
        f"{accession}.fasta",
        sequence_md5=REFERENCE_MD5,
    )
    genes = Remote(f"{bases.viewer}?db=nuccore&report=gff3&id={accession}", f"{accession}.gff3")
    reference = (DataFile("data.reference", (fasta,)), DataFile("data.genes", (genes,)))
    ncov = f"{bases.nextstrain}/ncov/open"
    return [
        DataSet(
            "sars-cov-2-reference",
            "Wuhan-Hu-1 (MN908947.3 = NC_045512.2) and its genes",
            _GENBANK,
            "50 kB",
            reference,
        ),
        DataSet(
            "nextstrain-sars-cov-2-100k",
            "about 100,000 open SARS-CoV-2 genomes, sampled over months and countries",
            _OPEN,
            "about 30 MB",
            _pair([f"{ncov}/100k/metadata.tsv.xz"], [f"{ncov}/100k/sequences.fasta.xz"]),
        ),
        DataSet(
            "nextstrain-sars-cov-2",
            "every open SARS-CoV-2 genome (millions)",
            _OPEN,
            "many GB",
            _pair([f"{ncov}/metadata.tsv.zst"], [f"{ncov}/sequences.fasta.zst"]),
        ),
        DataSet(
            "sst2",
            "GLUE SST-2: 67,349 and 872 phrases and sentences, 2 classes",
            _SST,
            "4 MB",
            hub="nyu-mll/glue:sst2",
        ),
    ]


def pathogen_set(path: str, bases: Bases) -> DataSet:
    """`PATHOGEN[/SUB]` of data.nextstrain.org; which packing a pathogen has can only be asked."""
    home, parent = f"{bases.nextstrain}/workflows/{path}", posixpath.dirname(path)
    metadata = [f"{home}/metadata.tsv.{packing}" for packing in ("zst", "gz", "xz")]
    sequences = [f"{home}/sequences.fasta.{packing}" for packing in ("zst", "xz")]
    if parent:
        # dengue names its serotypes in the files; influenza has one table for all segments of a subtype
        folder, sub = f"{bases.nextstrain}/workflows/{parent}", posixpath.basename(path)
        metadata += [f"{folder}/metadata_{sub}.tsv.zst", f"{folder}/metadata.tsv.zst"]
        sequences += [f"{folder}/sequences_{sub}.fasta.zst"]
    files = _pair(metadata, sequences)
    return DataSet(f"nextstrain:{path}", f"genomes of {path} curated by Nextstrain", _MIXED, "", files)


def find_set(name: str, bases: Bases) -> DataSet:
    """The set of this name. Raises UserError naming those that look like it."""
    known = {dataset.name: dataset for dataset in named_sets(bases)}
    if name in known:
        return known[name]
    if match := _PATHOGEN.fullmatch(name):
        return pathogen_set(match[1], bases)
    names = [*known, ANY_PATHOGEN]
    near = difflib.get_close_matches(name, names, n=2) or names
    raise UserError(
        f"no data set is named {name!r}: did you mean {' or '.join(near)}?\n"
        "`incrt data fetch --list` shows all; an address must start with https:// or http://."
    )


def _pair(metadata: list[str], sequences: list[str]) -> tuple[DataFile, ...]:
    return (
        DataFile("data.sequences", tuple(Remote(url, posixpath.basename(url)) for url in sequences)),
        DataFile("data.metadata", tuple(Remote(url, posixpath.basename(url)) for url in metadata)),
    )


def remote_of(url: str, sha256: str | None) -> Remote:
    """A file named as the last part of its address. Raises UserError when that is no file name."""
    url = checked_url(url)
    name = unquote(posixpath.basename(urlsplit(url).path))
    if name.strip(". ") == "" or not name.isprintable() or set(name) & set("/\\"):
        raise UserError(f"{url}: the path of this address does not end in a file name")
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise UserError(f"--sha256 {sha256}: a SHA-256 is 64 hexadecimal digits")
    return Remote(url, name, sha256)
