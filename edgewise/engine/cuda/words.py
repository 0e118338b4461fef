"""The words that the host and a kernel of the CUDA engine exchange."""

from typing import Any

import numpy as np

from edgewise.kernels.cuda.memory import pinned, receive, send, zeros


class Words:
    """The few words that the host writes before a run and reads after it: the kernel's control words, parameters,
    aggregates. They lie together on the GPU and in the host's memory, so one copy takes all of them each way."""

    def __init__(self, control: int, dtypes: dict[tuple[str, str], np.dtype]) -> None:
        self._device, self.host = (
            zeros(control + len(dtypes), np.int64),
            pinned(control + len(dtypes), np.int64),
        )
        self.control = self._device[:control]
        self._values = _slots(self.host, control, dtypes)
        self.arrays = _slots(self._device, control, dtypes)

    def send(self, parameters: dict[str, Any]) -> None:
        """Start to set parameters, and all other words to 0."""
        self.host[...] = 0
        for name, value in parameters.items():
            self._values["parameter", name][0] = value
        send(self._device, self.host)

    def receive(self) -> None:
        """Start to copy the words to `host`."""
        receive(self.host, self._device)

    def aggregate(self, name: str) -> Any:
        """What was received of an aggregate."""
        return self._values["aggregate", name][0].item()


def _slots(words: Any, first: int, dtypes: dict[tuple[str, str], np.dtype]) -> dict[tuple[str, str], Any]:
    """Arrays of one element in the words from `first` on."""
    return {key: words[first + i :][:1].view(dtype)[:1] for i, (key, dtype) in enumerate(dtypes.items())}
