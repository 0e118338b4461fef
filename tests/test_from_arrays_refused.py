"""Arrays and sparse matrices of other libraries that make no graph are refused, and never read beyond their ends."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import edgewise as ew
from edgewise.errors import GraphError


def test_entries_listed_twice_have_their_sum_or_are_refused():
    ends = ([0, 0], [1, 1])
    for dtype in (np.int8, np.uint8, np.int16, np.int32, np.float32):
        matrix = scipy.sparse.coo_array((np.array([100, 100], dtype), ends), shape=(2, 2))
        assert ew.Graph.from_scipy(matrix).weights.tolist() == [200]
    for dtype in (np.int32, np.int64):
        most = np.iinfo(dtype).max
        matrix = scipy.sparse.coo_array((np.array([most, 1], dtype), ends), shape=(2, 2))
        with pytest.raises(GraphError, match=f"have a sum that {np.dtype(dtype)} cannot hold"):
            ew.Graph.from_scipy(matrix)
        assert not ew.Graph.from_scipy(matrix, weighted=False).weighted


@pytest.mark.parametrize("index", [999_999_999, -3])
@pytest.mark.parametrize("format_", ["csr", "csc", "bsr", "coo", "lil"])
def test_indices_beyond_the_shape_of_a_matrix_are_refused(format_, index):
    matrix = scipy.sparse.eye_array(4, format=format_)
    if format_ == "coo":
        matrix.coords[0][0] = index
    elif format_ == "lil":
        matrix.rows[0] = [index]
    else:
        matrix.indices[0] = index
    with pytest.raises(GraphError, match=f"{index}"):
        ew.Graph.from_scipy(matrix)


def test_matrices_of_other_dimensions_are_refused():
    for shape in ((2,), (2, 2, 2), (2, 3)):
        with pytest.raises(
            GraphError, match=re.escape(f"the matrix has shape {shape}; expected a square one")
        ):
            ew.Graph.from_scipy(scipy.sparse.coo_array(np.ones(shape)))


class Unreadable:
    """An array of a library that does not give it."""

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        raise BufferError("it lies nowhere")


class Conjugate:
    """A tensor that raises as those of PyTorch do."""

    dtype = "complex64"

    def __array__(self, *args, **options):
        raise RuntimeError("Use tensor.resolve_conj() first")


@pytest.mark.parametrize(
    ("column", "problem"), [(Unreadable(), "it lies nowhere"), (Conjugate(), "resolve_conj")]
)
def test_arrays_that_cannot_be_had_are_errors_of_graphs(column, problem):
    for make in (
        lambda: ew.Graph.from_edges(column, [1, 2]),
        lambda: ew.Graph.from_edges([0, 1], [1, 2], column),
        lambda: ew.Graph.from_edges([0, 1], [1, 2], vertices=column),
        lambda: ew.Graph.from_edge_index(column),
    ):
        with pytest.raises(GraphError, match=rf"{type(column).__name__} gives no array \(.*{problem}"):
            make()


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, None]),
        pa.array([1, None]),
        pa.chunked_array([[1], [None]]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1, None], dtype="float64[pyarrow]"),
    ],
)
def test_missing_values_of_columns_are_refused_with_their_row(column):
    for how in ({"weight": column}, {"edge_attributes": {"x": column}}):
        with pytest.raises(GraphError, match=r"\[1\] is missing\. Drop such edges first"):
            ew.Graph.from_edges([0, 1], [1, 2], **how)


def test_a_generator_of_vertices_is_refused():
    with pytest.raises(GraphError, match=r"vertices is a generator; .* an id for each vertex\. Give a list"):
        ew.Graph.from_edges([0], [1], vertices=(each for each in range(2)))
