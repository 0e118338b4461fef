"""Compressed edge lists, unpacked whole: all streams are complete, and nothing follows the last one but zeros."""

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any

from reference import Expected, Unsure, refuse_unless
from reference_tables import read_table

from edgewise.whole import zstd_module

_ZSTD = zstd_module()
#: How gzip begins; and flags in its fourth byte that zlib checks, and Python's own module does not.
_GZIP, _CHECKED = b"\x1f", 0xE2
_STREAMS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lzma.LZMADecompressor,
    b"\x28\xb5\x2f\xfd": _ZSTD.ZstdDecompressor,
}


def read_packed(data: bytes, **options: Any) -> Expected:
    """The edges of an edge list that may be compressed: its first bytes say how.

    Raises:
        Unsure: a gzip header with a checksum, or with flags that mean nothing.
    """
    begin = next((begin for begin in _STREAMS if data.startswith(begin)), None)
    return read_table(data if begin is None else _unpacked(data, _STREAMS[begin]), **options)


def _unpacked(data: bytes, stream: Callable[[], Any]) -> bytes:
    """The content of all streams, one behind the other."""
    content = b""
    while data:
        if data[:1] == _GZIP and data[3:4] and data[3] & _CHECKED:
            raise Unsure
        unpacker = stream()
        try:
            content += unpacker.decompress(data)
        except (OSError, lzma.LZMAError, zlib.error, _ZSTD.ZstdError):
            refuse_unless(False)
        refuse_unless(unpacker.eof)
        data = unpacker.unused_data
        if stream is not _ZSTD.ZstdDecompressor:
            data = data.lstrip(b"\0")
    return content
