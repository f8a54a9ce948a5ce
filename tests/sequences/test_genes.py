"""Genes of a GFF3 file, and regions by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from incrt_cli.errors import UserError
from incrt_cli.sequences.genes import Gene, Region, read_genes, resolve_region

GFF = """\
##gff-version 3
# a remark
NC\tRef\tregion\t1\t29903\t.\t+\t.\tID=NC;Name=whole
NC\tRef\tgene\t266\t21555\t.\t+\t.\tID=gene-1;Name=ORF1ab
NC\tRef\tCDS\t13468\t21555\t.\t+\t0\tID=cds-1;Parent=gene-1;gene=ORF1ab
NC\tRef\tCDS\t266\t13468\t.\t+\t0\tID=cds-1;Parent=gene-1;gene=ORF1ab
NC\tRef\tCDS\t266\t13468\t.\t+\t0\tID=cds-2;Parent=gene-1;gene=ORF1ab

NC\tRef\tgene\t21563\t25384\t.\t+\t.\tgene_name=S; Note=spike
NC\tRef\tgene\t10\t20\t.\t-\t.\tName=a%2Cb%20c
##FASTA
>NC
ACGT
"""
GENES = {
    "ORF1ab": Gene("ORF1ab", ((266, 13468), (13468, 21555))),
    "S": Gene("S", ((21563, 25384),)),
    "a,b c": Gene("a,b c", ((10, 20),), "-"),
}


def test_genes_have_their_coding_parts_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "g.gff3"
    path.write_text(GFF)
    assert read_genes(path) == GENES


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("NC Ref gene 1 2", ", line 2: GFF3 has 9 columns cut by tabs, this line has 1"),
        ("NC\tR\tgene\t5\t2\t.\t+\t.\tName=a", ", line 2: '5' to '2' is no range of positions"),
        ("NC\tR\tgene\t0\t2\t.\t+\t.\tName=a", ", line 2: '0' to '2' is no range of positions"),
        (
            "NC\tR\texon\t1\t2\t.\t+\t.\tName=a",
            " names no gene (a GFF3 line of type gene or CDS with a name)",
        ),
    ],
)
def test_what_is_no_gff3_is_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "g.gff3"
    path.write_text(f"##gff-version 3\n{line}\n")
    with pytest.raises(UserError) as error:
        read_genes(path)
    assert str(error.value) == f"{path}{message}"


@pytest.mark.parametrize(
    ("region", "resolved"),
    [
        ("21563:25384", Region("21563:25384", ((21563, 25384),))),
        ("spike", Region("S", ((21563, 25384),))),
        ("S ", Region("S", ((21563, 25384),))),
        ("orf1AB", Region("ORF1ab", ((266, 13468), (13468, 21555)))),
    ],
)
def test_a_region_is_a_range_or_a_gene(region: str, resolved: Region) -> None:
    assert resolve_region(region, GENES, 29903) == resolved


KNOWN = "the genes are ORF1ab, S, a,b c"


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("ORF1b", f"region 'ORF1b' is neither start:end nor a gene: {KNOWN}; did you mean ORF1ab?"),
        ("nothing", f"region 'nothing' is neither start:end nor a gene: {KNOWN}"),
        ("0:5", "region '0:5': it runs from its start, 1 or more, to its end"),
        ("7:5", "region '7:5': it runs from its start, 1 or more, to its end"),
        ("5:30000", "region '5:30000' ends at 30000, and the reference at 29903"),
    ],
)
def test_any_other_region_is_explained(region: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        resolve_region(region, GENES, 29903)
    assert str(error.value) == message


def test_without_genes_only_ranges_are_regions() -> None:
    with pytest.raises(UserError, match="no genes are given"):
        resolve_region("S", {}, 10)
    assert resolve_region("2:10", {}, 10).parts == ((2, 10),)


@pytest.mark.shared_data
def test_the_genes_of_sars_cov_2(shared_data: Path) -> None:
    genes = read_genes(shared_data / "sars_cov_2" / "genes.gff3")
    assert len(genes) == 12
    assert resolve_region("spike", genes, 29903).parts == ((21563, 25384),)
