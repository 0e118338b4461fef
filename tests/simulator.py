"""The CUDA kernels in numba's simulator (NUMBA_ENABLE_CUDASIM=1), behind the same drivers as on a GPU.

NumPy stands for CuPy, and a launch in the simulator for one on a GPU. The simulator has one lane in a warp and here one
block of a few threads: what warps and several blocks do to each other is not seen.
"""

import contextlib
import sys
import threading
import typing
import weakref

import numpy as np
from numba import cuda, types
from numba.cuda.np.numpy_support import as_dtype
from numba.cuda.simulator import kernel as simulation
from numba.cuda.simulator.kernelapi import FakeCUDAShared

from edgewise.kernels import door
from edgewise.kernels.cuda import arguments as cuda_arguments
from edgewise.kernels.cuda import compile as cuda_compile
from edgewise.kernels.cuda import device as cuda_device
from edgewise.kernels.cuda import launch as cuda_launch
from edgewise.kernels.cuda import memory as cuda_memory
from edgewise.kernels.cuda import placed as cuda_placed

_making, _array_of_launch = threading.Lock(), FakeCUDAShared.array
_launch = simulation.FakeCUDAKernel.__call__


class SimulatedKernel:
    """A kernel in the simulator, with the interface of `edgewise.kernels.cuda.launch.Kernel`."""

    blocks = 1

    def __init__(self, function, kinds, shared_bytes=0, threads=None):
        self._kernel, self._kinds = cuda.jit(function), kinds
        self.threads = threads or cuda_device.THREADS
        self._shape = 1, self.threads, 0, shared_bytes

    def start(self, arguments, blocks=1):
        """Launch, with arguments put together to the tuples that the types say, if they are not yet."""
        given = iter(arguments)
        self._kernel[self._shape](
            *(
                tuple(next(given) for _ in range(kind.count))
                if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple)
                else next(given)
                for kind in self._kinds
            )
        )


def _call(function, *arguments):
    """Launch a kernel, or call a device function in one. The simulator's own function changes what `cuda` means to a
    module at each call, and back, which takes half of the time; here `cuda` itself has what kernels ask it for."""
    return _launch(function, *arguments) if simulation._kernel_context is None else function.fn(*arguments)


class Barrier:
    """Where the threads of a block that are not done meet."""

    def __init__(self, size):
        self._left, self._came, self._turn, self._failed = size, 0, 0, False
        self._changed = threading.Condition()

    def wait(self):
        """Wait for the others."""
        with self._changed:
            turn = self._turn
            self._came += 1
            self._go_on_if_complete()
            self._changed.wait_for(lambda: self._turn > turn or self._failed)
            if self._failed:
                raise RuntimeError("another thread of the block has failed")

    def leave(self, failed):
        """A thread is done, or has failed: the others need not wait for it."""
        with self._changed:
            self._left -= 1
            self._failed |= failed
            self._go_on_if_complete()
            self._changed.notify_all()

    def _go_on_if_complete(self):
        if self._came == self._left:
            self._came, self._turn = 0, self._turn + 1
            self._changed.notify_all()


class Block(simulation.BlockManager):
    """The threads of a block. The simulator's own one looks at them in turn all the time, and so keeps them waiting."""

    def run(self, grid_point, *args):
        """Run a kernel to its end. Raises what a thread raised."""
        places = list(np.ndindex(*self._block_dim))
        self.barrier, self.given, failures = Barrier(len(places)), {}, []

        def run_thread():
            try:
                self._f(*args)
            except BaseException as failure:
                failures.append(failure)
                self.barrier.leave(failed=True)
            else:
                self.barrier.leave(failed=False)

        threads = [simulation.BlockThread(run_thread, self, grid_point, place, False) for place in places]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]


class Placed(np.ndarray):
    """An array of which a part may lie on the host; `on_gpu` of its bytes lie on the GPU."""

    made: typing.ClassVar = []
    most: typing.ClassVar = 0

    @classmethod
    def of(cls, values, on_gpu):
        """An array whose first bytes are on the GPU."""
        placed = values.view(cls)
        placed.on_gpu = min(on_gpu, values.nbytes)
        cls.made = [each for each in cls.made if each() is not None] + [weakref.ref(placed)]
        cls.most = max(cls.most, cls.bytes_on_gpu())
        return placed

    @classmethod
    def bytes_on_gpu(cls):
        """The bytes of all such arrays that there are now; `most` are those that there were at one time."""
        return sum(each().on_gpu for each in cls.made if each() is not None)

    def copy(self):
        """A copy; the driver makes none of memory of both kinds."""
        assert self.on_gpu == self.nbytes, "a copy of an array of which a part lies on the host"
        return np.array(self)


def place(values, on_gpu, written=False):
    """An array in parts; one that is there already stays."""
    return values if isinstance(values, Placed) and not written else Placed.of(np.array(values), on_gpu)


def send_part(to, at, values, first, count):
    """Copy elements of an array."""
    to[at : at + count] = values[first : first + count]


class _Copies(threading.local):
    """Copies to the host that a thread has started. They arrive when that, or what was asked for later, is waited for:
    until then what is read there means nothing."""

    def __init__(self):
        self.waiting, self.arrived = [], 0

    def receive(self, host, values):
        """Start a copy."""
        self.waiting.append((host, np.array(values)))
        host.view(np.uint8)[...] = 0xC5

    def mark(self):
        """How many copies have been started, in place of an event."""
        return self.arrived + len(self.waiting)

    def arrive(self, event=None):
        """Finish those before an event, or all."""
        count = (self.mark() if event is None else event) - self.arrived
        for host, values in self.waiting[: max(0, count)]:
            host[...] = values
            self.arrived += 1
        del self.waiting[: max(0, count)]

    def done(self, event):
        """Whether an event has happened, when it is asked for."""
        self.arrive(event)
        return True

    def wait(self, host, progress, meanwhile=None, event=None):
        """Wait for an event, or for all."""
        self.arrive(event)

    def host_copy(self, values):
        """A copy that has arrived."""
        self.arrive()
        return np.array(values)


class _Stream(contextlib.nullcontext):
    """A stream whose work is done at once."""

    def synchronize(self):
        """Wait for nothing."""


@contextlib.contextmanager
def room(name, needed):
    """There is always room."""
    yield


def not_set(length, dtype):
    """An array whose values mean nothing, as those in a GPU's memory that something else has used before."""
    return np.full(length * np.dtype(dtype).itemsize, 0xC5, np.uint8).view(dtype)


def fixed_kernel(function, kinds, *variant, shared_bytes=0, threads=None):
    """A kernel of edgewise's own."""
    return SimulatedKernel(function(*variant) if variant else function, kinds, shared_bytes, threads)


def _shared_array(shared, shape, dtype):
    """The array that the threads of a block share by a line of a kernel. The simulator's own function may give two
    threads that ask at the same time two arrays."""
    if shape == 0:  # what a launch asks for, which is there
        return _array_of_launch(shared, shape, dtype)
    asking = sys._getframe(1)
    with _making:
        line = asking.f_code.co_filename, asking.f_lineno
        return shared._allocations.setdefault(line, np.empty(shape, as_dtype(dtype)))


def _syncthreads_or(thread, value):
    """Wait for the other threads of the block; whether any gave a value but 0."""
    block = thread._manager
    block.given[thread] = value
    block.barrier.wait()
    found = any(block.given.values())
    block.barrier.wait()
    return found


def pretend():
    """Put NumPy and the simulator where the GPU would be; what runs on a GPU is loaded afterwards."""
    if not cuda_device.SIMULATED:
        sys.exit("set NUMBA_ENABLE_CUDASIM=1")
    cuda_memory.cupy = lambda: np
    copies = _Copies()
    cuda_memory.copy_of, cuda_memory.host_copy = np.array, copies.host_copy
    cuda_memory.empty, cuda_memory.address_of = not_set, lambda values: values.ctypes.data
    cuda_arguments.words = cuda_arguments.address = cuda_arguments.packed = lambda values: values
    cuda_memory.send, cuda_memory.receive = np.copyto, copies.receive
    cuda_memory.send_part, cuda_memory.fill = send_part, np.ndarray.fill
    cuda_memory.follow = lambda stream: None
    cuda_memory.mark, cuda_memory.done = copies.mark, copies.done
    cuda_memory.new_stream = lambda follows=False: _Stream()
    cuda_memory.device_number = lambda: 0
    cuda_memory.device_uuid, cuda_memory.use_device = lambda: "simulated", lambda number: None
    cuda_memory.wait, cuda_memory.finish = copies.wait, copies.arrive
    cuda_memory.give_back = lambda: None
    cuda_memory.fits = lambda needed: True
    cuda_memory.scratch = lambda size: contextlib.nullcontext(contextlib.nullcontext)
    cuda_memory.free = lambda: 2**40
    cuda_memory.link_rate = lambda: 50e9
    cuda_memory.most_threads = lambda: cuda_device.THREADS
    cuda_memory.capability = lambda: (9, 0)
    cuda_memory.pinned, cuda_launch.fixed_kernel, cuda_memory.room = np.zeros, fixed_kernel, room
    cuda_compile.compile_kernel = lambda function, kinds, capability, key, threads=None: (function, kinds)
    cuda_launch.Kernel = lambda code, threads=None: SimulatedKernel(*code, threads=threads)
    door.cuda_problem = lambda: None
    cuda_placed.place = place
    cuda_placed.empty_divided = lambda length, dtype, on_gpu: Placed.of(np.empty(length, dtype), on_gpu)
    cuda_placed.on_gpu = lambda values: getattr(values, "on_gpu", values.nbytes)
    cuda_placed.after_line = lambda values: 4
    cuda_placed.for_users = np.array
    simulation.BlockManager, FakeCUDAShared.array = Block, _shared_array
    simulation.FakeCUDAKernel.__call__ = _call
    cuda.__getattr__ = lambda name: getattr(simulation._kernel_context, name)
    simulation.BlockThread.syncthreads = lambda thread: thread._manager.barrier.wait()
    simulation.BlockThread.syncthreads_or = _syncthreads_or
