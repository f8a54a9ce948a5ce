"""Every packing that is read, as functions from bytes to bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Mapping

import pyarrow as pa

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": lambda content: gzip.compress(content, mtime=0),  # the same bytes in every test process
    "xz": lzma.compress,
    "lzma": lambda content: lzma.compress(content, lzma.FORMAT_ALONE),
    "bz2": bz2.compress,
    "zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
}


def tar(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()
