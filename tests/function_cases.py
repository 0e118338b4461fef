"""What tests of the functions of programs share."""

import pytest

import edgewise as ew
from edgewise.errors import ProgramError

CYCLE = ew.Graph.from_edges([0, 1, 2], [1, 2, 0])


def refusal(program, **options):
    with pytest.raises(ProgramError) as caught:
        ew.run(program, CYCLE, device="cpu", **options)
    return str(caught.value)
