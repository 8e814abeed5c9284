"""The frequency of this machine's time stamp counter, which an emulated machine shares.

Linux finds it out at boot by comparing the counter with a timer. On a busy machine QEMU serves the
timer late, and a guest has been seen to believe 577 MHz where 2596 were right: its clock then ran
4.5 times too fast, its latencies were as wrong, and Slurm refused its credentials as expired.
"""

import ctypes
import mmap
import platform
import time
from typing import Final

# rdtsc; shl rdx, 32; or rax, rdx; ret
_READ_COUNTER: Final = bytes.fromhex("0f31 48c1e220 4809d0 c3")
_SECONDS: Final = 0.1
_TRIES: Final = 20


def kilohertz() -> int | None:
    """The counter's frequency in kHz, to about 0.01 %; None where a program cannot read it."""
    if platform.machine() != "x86_64":
        return None
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    code.write(_READ_COUNTER)
    first_byte = ctypes.c_char.from_buffer(code)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(first_byte))
    try:
        return _measure(read)
    finally:
        del first_byte
        code.close()


def _measure(read: "ctypes._CFunctionType") -> int:
    begin, begin_ticks = _together(read)
    time.sleep(_SECONDS)
    end, end_ticks = _together(read)
    return round((end_ticks - begin_ticks) * 1e6 / (end - begin))


def _together(read: "ctypes._CFunctionType") -> tuple[float, int]:
    """Nanoseconds and ticks of the same moment: the tightest of a few readings."""
    readings = []
    for _ in range(_TRIES):
        before = time.monotonic_ns()
        ticks: int = read()
        after = time.monotonic_ns()
        readings.append((after - before, (before + after) / 2, ticks))
    _, moment, ticks = min(readings)
    return moment, ticks
