"""A script for two ranks: one waits as by NCCL for an exchange that never ends, and the other ends the run."""

import time

import pytest

from edgewise.engine.distributed.channel import StreamChannel
from edgewise.engine.distributed.channel_cuda import NcclChannel
from edgewise.engine.distributed.group import connect, telling_errors
from edgewise.errors import DistributedError, ProgramError


def main():
    group = connect()
    channel = NcclChannel.__new__(NcclChannel)  # there is no NCCL here
    StreamChannel.__init__(channel, group)
    began = time.monotonic()
    with pytest.raises(ProgramError) as ended, telling_errors(), channel.in_run():
        if group.rank == 1:
            time.sleep(0.5)
            raise ProgramError("enough")
        with channel._lost_by_errors():
            channel._await(lambda: False)
    assert str(ended.value) == ("rank 1: enough" if group.rank == 0 else "enough")
    assert time.monotonic() - began < 30
    with pytest.raises(DistributedError, match="start all of them again"):
        group.total(1)
    if group.rank == 0:
        print("the error ended both", flush=True)


if __name__ == "__main__":
    main()
