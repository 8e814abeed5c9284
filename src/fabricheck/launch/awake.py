"""CPUs that do not sleep while cases run whose nodes are parts of this machine.

A case that waits for messages puts its CPUs to sleep. A virtual one returns only when the
hypervisor finds it a CPU, and what that takes is charged as stolen and lies in each message.
"""

import functools
import os
import struct
from pathlib import Path
from typing import Final

_LATENCY: Final = Path("/dev/cpu_dma_latency")
_NONE: Final = struct.pack("=i", 0)


@functools.cache
def keep_awake(device: Path = _LATENCY) -> int | None:
    """Let no CPU of this machine sleep until this process ends, as tuned's network-latency does.

    Args:
        device: takes the longest time in us to wake up, as 32 bits, as long as it is open (Linux,
            ``Documentation/power/pm_qos_interface.rst``).

    Returns:
        The descriptor that holds it; ``None`` where the kernel has no such device, or for users who
        may not write it.
    """
    try:
        descriptor = os.open(device, os.O_WRONLY)
        os.write(descriptor, _NONE)
    except OSError:
        return None
    return descriptor
