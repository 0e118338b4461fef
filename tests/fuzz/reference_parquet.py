"""Tables of edges in Parquet files, read by pyarrow as lists of Python's values."""

import io
import math

from reference import Expected, Unsure, joined, refuse_unless


def packed_parquet(content: bytes) -> bytes:
    """A file that some bytes describe, whatever they are: the kind of ids, that of weights, and three bytes an edge."""
    import pyarrow
    import pyarrow.parquet

    kind, weigh, *rest = [*content[:2].ljust(2, b"\1"), *content[2:]]
    edges = list(zip(*[iter(rest)] * 3, strict=False))
    make = (int, "n{}".format, lambda end: None if end > 250 else end - 50, lambda end: end * 2**40)[kind % 4]
    columns = {"source": [make(edge[0]) for edge in edges], "target": [make(edge[1]) for edge in edges]}
    if weigh % 3:
        scale = (1, 0.25)[weigh % 2]
        columns["weight"] = [scale * edge[2] if edge[2] < 254 else math.nan for edge in edges]
    file = io.BytesIO()
    compression = ("none", "snappy", "zstd")[weigh // 3 % 3]
    pyarrow.parquet.write_table(pyarrow.table(columns), file, compression=compression, row_group_size=3)
    return file.getvalue()


def read_parquet(data: bytes, weighted: bool | None = None) -> Expected:
    """The edges of a file with the columns source and target, perhaps weight, and no others."""
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
        table = file.read()
        columns = {name: table[name].to_pylist() for name in table.column_names}
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, KeyError):
        raise Unsure from None  # damage is found where it is read, and not all is read
    if list(columns)[:2] != ["source", "target"] or set(columns) - {"source", "target", "weight"}:
        raise Unsure
    kinds = [table.schema.field(name).type for name in columns]
    integers = all(map(pyarrow.types.is_integer, kinds[:2]))
    refuse_unless(integers or all(map(pyarrow.types.is_string, kinds[:2])))
    refuse_unless(len(table) and len(table) == file.metadata.num_rows)
    refuse_unless(all(None not in column for column in columns.values()))
    weights = columns.get("weight")
    if weights is not None and weighted is not False:
        refuse_unless(pyarrow.types.is_integer(kinds[2]) or pyarrow.types.is_floating(kinds[2]))
        refuse_unless(all(map(math.isfinite, weights)))
    else:
        weights = None
    return Expected(joined(list(zip(columns["source"], columns["target"], strict=True)), weights))
