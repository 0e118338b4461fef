"""How the arrays among a kernel's arguments are declared: by the annotations of named tuples, for every device.

See docs/design/arguments.md.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np


class Elements(NamedTuple):
    """An array as an argument.

    Attributes:
        dtype: NumPy's; or, if kernels differ, the name by which their maker is told the dtype or the whole type.
        atomic: whether atomic operations on a GPU change the array. It is then passed as seven words, not as an
            address.
    """

    dtype: Any
    atomic: bool = False


Uint8s = Annotated[Any, Elements(np.uint8)]
Int32s = Annotated[Any, Elements(np.int32)]
Int64s = Annotated[Any, Elements(np.int64)]
Uint32s = Annotated[Any, Elements(np.uint32)]
Float64s = Annotated[Any, Elements(np.float64)]
#: Arrays whose dtype differs between kernels: offsets and weights of a graph, and keys (`ordered_keys`).
Offsets = Annotated[Any, Elements("offset")]
Weights = Annotated[Any, Elements("weight")]
Keys = Annotated[Any, Elements("key")]
