"""Is a downloaded file what its name says? Servers answer with pages of apology under status 200 too."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath

from incrt_cli.errors import UserError

_HEAD = 4096
_MAGIC = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd", ".bz2": b"BZh"}
_DELIMITERS = {".tsv": set(b"\t"), ".csv": set(b",;\t")}
_KEYS = {
    (".fasta", ".fa", ".fna", ".fas"): "data.sequences",
    (".tsv", ".csv"): "data.metadata",
    (".gff", ".gff3"): "data.genes",
}


def config_key(name: str) -> str:
    """The config key that a file of this name is most likely for."""
    kind = _kind(name)
    return next((key for suffixes, key in _KEYS.items() if kind in suffixes), "data.path")


def complaint(path: Path, name: str, content_type: str) -> str | None:
    """Why the bytes at `path` cannot be the file `name`, or None when nothing speaks against it."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    # A byte order mark and empty lines do no harm, and readers skip them.
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        return "the server sent an empty file"
    kind, packing = _kind(name), PurePath(name).suffix.lower()
    if kind not in (".html", ".htm") and _is_page(text, content_type):
        return "the server sent an HTML page instead of the file"
    if packing in _MAGIC:
        return None if head.startswith(_MAGIC[packing]) else f"its bytes are not those of a {packing} file"
    return _text_complaint(kind, text)


def _text_complaint(kind: str, text: bytes) -> str | None:
    key = config_key(kind)
    if key == "data.sequences" and not text.startswith(b">"):
        return "it does not start with '>' as FASTA does"
    if key == "data.genes" and not text.startswith(b"##gff-version"):
        return "it does not start with '##gff-version' as GFF3 does"
    if key == "data.metadata" and not set(text.splitlines()[0]) & _DELIMITERS[kind]:
        return "its first line holds no delimiter, so it is no table of several columns"
    return None


def sequence_md5(path: Path) -> str:
    """MD5 of the letters of a plain FASTA file: upper case, without headers and white space."""
    hasher = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        for line in file:
            if not line.startswith(b">"):
                hasher.update(b"".join(line.split()).upper())
    return hasher.hexdigest()


def require_sum(kind: str, expected: str | None, found: str, url: str) -> None:
    """Raises UserError when a checksum is known and the file's is another."""
    if expected is not None and expected.lower() != found:
        raise UserError(
            f"{url}: the {kind} is {found}, but {expected.lower()} was expected; nothing was kept.\n"
            "The file was changed at its source or damaged on the way: try again, or check the expected one."
        )


def _kind(name: str) -> str:
    suffixes = [suffix.lower() for suffix in PurePath("x" + name).suffixes]  # "x": of ".tsv" alone, too
    while suffixes and suffixes[-1] in _MAGIC:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _is_page(text: bytes, content_type: str) -> bool:
    # Some servers call every text HTML: the label alone is not enough.
    labelled = content_type.startswith("text/html") and text.startswith(b"<")
    return labelled or text[:64].lower().startswith((b"<!doctype html", b"<html"))
