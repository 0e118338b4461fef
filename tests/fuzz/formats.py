"""The formats whose readers are tried with drawn mistakes: whole files of each, and the slow reader that says what
they mean. A new format is an entry of `FORMATS`."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from reference import Expected
from reference_gap import packed_gap, read_gap
from reference_graphml import read_graphml
from reference_konect import read_konect
from reference_networkx import read_adjlist, read_edge_data
from reference_npz import packed_npz, read_npz
from reference_packed import read_packed
from reference_parquet import packed_parquet, read_parquet
from reference_sized import read_adjacency, read_dimacs, read_matrix, read_metis, read_tntp
from reference_tables import read_table

from edgewise.whole import zstd_module

Seed = tuple[bytes, dict[str, Any]]


@dataclass(frozen=True)
class Format:
    """Whole files of a format.

    Attributes:
        file: the name of a file; its suffix says the format.
        seeds: files and the options with which they are read.
        reference: the slow reader; it takes the same options.
        comment: a line that means nothing.
        beyond: bytes of memory that this format takes for a file of any size, beyond those of all formats.
        pack: makes or compresses a file; mistakes are drawn before that and after it.
        binary: whether a file holds numbers, which are overwritten.
    """

    file: str
    seeds: list[Seed]
    reference: Callable[..., Expected]
    comment: bytes = b""
    beyond: int = 0
    pack: Callable[[bytes], bytes] | None = None
    binary: bool = False


_MATRIX = b"%%MatrixMarket matrix coordinate"
_NETWORK = (
    b"<NUMBER OF ZONES> 2\n<NUMBER OF NODES> 4\n<NUMBER OF LINKS> 3\n<FIRST THRU NODE> 1\n"
    b"<END OF METADATA>\n\n\n"
)
_LINKS = b"\t1\t2\t900\t1.5\t3\t;\n\t4\t1\t450\t0.25\t2\t;\n\t4\t3\t450\t2\t2\t;\n"

#: What `packed_gap` makes graphs of.
_GAP = [
    (b"\x01\x04abcdefghijkl", {}),
    (b"\xff\x05abcdefghijkl", {}),
    (b"\x01\x02xyzxyz", {"weighted": False}),
]
#: What `packed_npz` and `packed_parquet` make graphs of.
_ARRAYS = [(bytes([kind, kind, 4, 0]) + b"abcdefghijklmnop", {}) for kind in range(10)]
_MARKUP = (
    b"<graphml xmlns='http://graphml.graphdrawing.org/xmlns'>\n"
    b"<key id='w' for='edge' attr.name='weight' attr.type='double'/>\n"
    b"<key id='x' for='edge' attr.name='x' attr.type='string'/>\n"
    b"<graph edgedefault='undirected'>\n%s</graph>\n</graphml>\n"
)

FORMATS = {
    "edgelist": Format(
        "graph.txt",
        [
            (b"# Nodes: 3\n0 1\n1 2\n2 0\n", {}),
            (b"0\t1\t5\r\n1\t2\t-7\r\n2\t0\t9223372036854775807\r\n", {}),
            (b"1 2 0.5\n2 3 1e-3\n3 1 123456789.123456789123\n3 1 .5\n", {}),
            (b"7 100000000000000000000\n100000000000000000000 007\n-3 4\n", {}),
            (b"1 2 0 7\n2 3 0 8\n1 1 0 9\n", {}),
            (b"0 1\n1 2\n2 2\n3 0\n", {"num_vertices": 5}),
            (b"1 1 3\n5 2 1.5\n4 4 3\n", {"num_vertices": 5, "index_base": 1}),
            (b"1 2 3\n2 3 4\n", {"weighted": False, "directed": False}),
            (b"18446744073709551615 9223372036854775808 1\n9223372036854775808 3 2\n", {"weighted": True}),
        ],
        read_table,
        b"# c",
    ),
    "names": Format(
        "graph.txt",
        [
            (b"a b\nb c\nc a\n", {}),
            (b"# Ids: names\n02\t2\n2\t3\n3\t02\n", {}),
            (b"1 2\n01 2\n+1 x\n", {"names": True}),
            ("é b 1\nb ü 2.5\n日本 é 3\n".encode(), {}),
            (b"a b 7\nb c 8\nc a 9\na a 1\n", {"directed": False}),
        ],
        read_table,
        b"% c",
    ),
    "csv": Format(
        "graph.csv",
        [
            (b"source,target,weight\n1,2,5\n2,3,6\n", {"delimiter": ",", "header": True}),
            (b"weight,to,from\n1,2,5\n2,3,6\n0.5,3,3\n", {"delimiter": ",", "header": True}),
            (b"id,u,v\n1,2,5\n2,3,6\n", {"delimiter": ",", "header": True}),
            (b'"x, y",b,cost\n1,2,"5"\n2,3,6\n', {"delimiter": ",", "header": True}),
            (b'"a, b","say ""hi"""\n" c ",d\n', {"delimiter": ",", "header": False}),
            (b"0,1\n2,0\n1,1\n", {"delimiter": ",", "header": False}),
            (b"a,b,0.25\n\nb,c,4\n# c\nc,a,1e22\n", {"delimiter": ",", "header": False}),
            (b"u;v;w\n0; 1 ;2\n 2;0;3\n", {"delimiter": ";", "header": True}),
        ],
        read_table,
        b"# c",
    ),
    "tsv": Format(
        "graph.tsv",
        [
            (b"source\ttarget\tweight\n1\t2\t5\n2\t3\t6\n", {"delimiter": "\t", "header": True}),
            (b'new york\tsan jose\n"a ""b"""\tnew york\n', {"delimiter": "\t", "header": False}),
            (b"0\t1\t\n2\t0\t\n1\t1\t\n", {"delimiter": "\t", "header": False}),
        ],
        read_table,
        b"% c",
    ),
    "matrix-market": Format(
        "graph.mtx",
        [
            (_MATRIX + b" pattern general\n% c\n4 4 3\n1 2\n3 1\n2 2\n", {}),
            (_MATRIX + b" integer symmetric\n3 3 2\n2 1 5\n3 1 -6\n", {}),
            (_MATRIX + b" real general\n3 3 2\n2 1 5\n3 1 0.5e1\n", {}),
            (_MATRIX + b" real symmetric\n%\n9 9 4\n2 1 5\n3 1 6\n3 3 7\n9 8 1\n", {"weighted": False}),
            (_MATRIX + b" pattern general\n5 5 0\n", {}),
        ],
        read_matrix,
        b"% c",
    ),
    "dimacs": Format(
        "graph.gr",
        [
            (b"c roads\np sp 4 3\na 1 2 900\na 2 3 -5\na 4 1 0\n", {}),
            (b"p sp 3 2\nc\na 1 2 0.5\na 3 3 7\n", {}),
            (b"p sp 3 2\na 1 2 5\na 3 1 7\n", {"weighted": False}),
        ],
        read_dimacs,
        b"c c",
    ),
    "pace": Format(
        "graph.gr",
        [(b"c trees\np tw 4 3\n1 2\n2 3\n4 1\n", {}), (b"p cep 5 4\n1 2\n1 3\nc c\n2 3\n5 5\n", {})],
        read_dimacs,
        b"c c",
    ),
    "tntp": Format(
        "graph.tntp",
        [
            (_NETWORK + b"~\tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\t;\n" + _LINKS, {}),
            (_NETWORK + b"~ from to capacity length speed ;\n" + _LINKS, {"weighted": False}),
            (_NETWORK + _LINKS, {"weight_column": "capacity"}),
        ],
        read_tntp,
        b"~ c",
    ),
    "metis": Format(
        "graph.metis",
        [
            (b"7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n", {}),
            (b"% c\n3 2 1\n2 5\n1 5 3 -7\n2 -7\n", {}),
            (b"3 2 111 2\n4 9 9 2 5\n4 8 8 1 5 3 6\n4 7 7 2 6\n", {}),
            (b"4 2 010\n9\n8 4\n7\n6 2 4\n", {}),
            (b"3 2 001\n2 5\n1 5 3 7\n2 7\n", {"weighted": False}),
            (b"4 1\n\n4\n\n2\n", {}),
        ],
        read_metis,
        b"% c",
    ),
    "adjacency": Format(
        "graph.graph-txt",
        [(b"4\n1 2\n\n0 3 3\n\n", {}), (b"3\n2 1 0\n0\n1\n", {}), (b"6\n5\n\n\n\n\n4 0\n", {})],
        read_adjacency,
    ),
    **{
        name: Format(
            f"graph.txt{suffix}",
            [(b"0 1 5\n1 2 6\n# c\n2 0 7\n", {}), (b"a b\nb c\nc a\n" * 20, {})],
            read_packed,
            b"# c",
            beyond,
            pack,
        )
        for name, suffix, beyond, pack in (
            ("gzip", ".gz", 0, partial(gzip.compress, mtime=0)),
            ("bzip2", ".bz2", 0, bz2.compress),
            ("xz", ".xz", 2**20, partial(lzma.compress, preset=0)),
            ("zstd", ".zst", 4 * 2**20, zstd_module().compress),
        )
    },
    "gap-edges": Format(
        "graph.wel",
        [(b"0 1 5\n1 2 6\n2 0 7\n", {}), (b"0 1 5.5\n1 2 6\n2 0 7\n", {})],
        partial(read_table, weighted=True),
    ),
    "konect": Format(
        "out.graph",
        [
            (b"% sym posweighted\n% 3 3 3\n1 2 5\n2 3 1.5\n3 3 7\n", {"format": "konect"}),
            (b"% asym unweighted\n1 2\n2 3\n3 1\n", {"format": "konect"}),
            (b"% asym positive\n1 2 5 100\n2 3 1 200\n3 1 7 300\n", {"format": "konect"}),
            (b"% sym signed\n1 2 1\n2 3 -1\n3 3 1\n", {"format": "konect", "weighted": False}),
        ],
        read_konect,
        b"% c",
    ),
    "adjlist": Format(
        "graph.adjlist",
        [
            (b"#test.py\n0 1 2\n1 2 # c\n2\n3\n", {}),
            (b"a b c\nb\nc a c\nd\n", {}),
            (b"# Ids: names\n1 02\n02 3\n7\n", {}),
            (b"7 100000000000000000000\n3\n5 7\n", {}),
            (b"1 2\n3 3\n5 1\n", {"directed": False}),
            (b"1 2\n3 3\n4 1\n", {"num_vertices": 5, "index_base": 1}),
        ],
        read_adjlist,
        b"# c",
    ),
    "networkx": Format(
        "graph.edgelist",
        [
            (b"0 1 {}\n1 2 {}\n2 0 {}\n", {}),
            (b"0 1 {'weight': 3}\n1 2 {'weight': -4, 'x': [1, 2]}\n2 0 {'weight': 5}\n", {}),
            (b"a b {'weight': 3.5, 'y': 'z'}\nb c {'y': 1, 'weight': 4}\n", {}),
            (b"a b {'y': {'weight': 3}}\nb c {'y': '}'}\n", {}),
            (b"0 1 {'weight': 3}\n1 2 {'weight': 4}\n", {"weighted": False}),
        ],
        read_edge_data,
        b"# c",
    ),
    "gap": Format("graph.sg", _GAP, partial(read_gap, False), pack=partial(packed_gap, False), binary=True),
    "gap-weighted": Format(
        "graph.wsg", _GAP, partial(read_gap, True), pack=partial(packed_gap, True), binary=True
    ),
    "graphml": Format(
        "graph.graphml",
        [
            (_MARKUP % b"<node id='1'/><node id='2'/><node id='7'/><edge source='1' target='2'/>", {}),
            (
                b"<?xml version='1.0' encoding='UTF-8'?>"
                + _MARKUP.replace(b"undirected", b"directed")
                % (
                    b"<edge source='b' target='a'><data key='w'>2.5</data></edge>\n<node id='a'/>\n<node id='b'/>"
                    b"<edge source='a' target='b'><data key='w'>3</data><data key='x'>y</data></edge>\n"
                ),
                {},
            ),
        ],
        read_graphml,
        b"<!-- c -->",
    ),
    "npz": Format("graph.npz", _ARRAYS, read_npz, pack=packed_npz, binary=True),
    "parquet": Format("graph.parquet", _ARRAYS, read_parquet, pack=packed_parquet, binary=True),
}
