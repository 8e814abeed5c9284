"""The testbed's guest: an emulated machine with Soft-RoCE devices, which is nodes rx1, rx2, ...

``kernel`` fetches a kernel, ``machine`` starts QEMU with it, ``init`` and ``agent`` are what runs
inside, ``client`` runs a command in it from outside.
"""
