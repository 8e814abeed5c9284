"""The configuration files of a testbed, as text."""

from collections.abc import Sequence
from typing import Final

from fabricheck_testbed import layout
from fabricheck_testbed.layout import Layout

_SLURM_CONF = """\
# Written by "testbed up"; changes are lost at the next one.
ClusterName=testbed
SlurmctldHost={login}({login_address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge_socket}
CredType=cred/munge
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
StateSaveLocation={controller_state}
# /run is private to each node, and short enough for the sockets of job steps.
SlurmdSpoolDir=/run/slurmd
SlurmctldLogFile={log}/slurmctld.log
SlurmdLogFile={log}/slurmd.%n.log
# Nodes share the cgroup of whoever ran "up": nothing may depend on cgroups.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=2,bf_interval=2
# Nodes claim CPUs that the machine may not have.
SlurmdParameters=config_overrides
# A default PMI would start the MPIs that speak another one as singletons.
MpiDefault=none
ReturnToService=2
# As Slurm has it by default: a job that loses its node is begun again, unless it asks not to be.
JobRequeue=1
SlurmdTimeout={node_timeout}
SlurmctldTimeout=30
InactiveLimit=0
KillWait=3
MinJobAge=300
MessageTimeout={message_timeout}
PropagateResourceLimits=NONE
NodeName={nodes} NodeAddr={addresses} CPUs={cpus} Sockets=1 CoresPerSocket={cpus} \
ThreadsPerCore=1 RealMemory={memory_mb} Feature=veth State=UNKNOWN
# Jobs of the partition stress yield to those of any other: they are queued again after their grace.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName={stress} Nodes={nodes} DefaultTime=10 MaxTime=120 State=UP \
OverSubscribe=NO PriorityTier=1 GraceTime=2
PartitionName={partition} Nodes={nodes} Default=YES DefaultTime=10 MaxTime=120 State=UP \
OverSubscribe=NO PriorityTier=10 PreemptMode=OFF
"""
# The guest's nodes share its network, so their daemons need ports of their own.
_GUEST_NODE: Final = """\
NodeName={name} NodeAddr={address} Port={port} CPUs={cpus} Sockets=1 CoresPerSocket={cpus} \
ThreadsPerCore=1 RealMemory={memory_mb} Feature=rdma State=UNKNOWN
"""
_GUEST_PARTITION: Final = """\
PartitionName={partition} Nodes={nodes} DefaultTime=10 MaxTime=120 State=UP OverSubscribe=NO \
PriorityTier=10 PreemptMode=OFF
"""

# Slurm 22.05 starts a cgroup plugin even with proctrack/linuxproc; v1 is content with an empty
# tmpfs on /sys/fs/cgroup, and "disabled" does not exist yet.
CGROUP_CONF = "CgroupPlugin=cgroup/v1\n"


# Seconds: until a silent node counts as lost, and until a message counts as lost. An emulated
# node on a loaded machine is slow to answer.
_TIMEOUTS: Final = (10, 20)
_GUEST_TIMEOUTS: Final = (40, 60)


def slurm_conf(
    files: Layout,
    nodes: int,
    cpus_per_node: int,
    memory_mb: int,
    *,
    guest: Sequence[str] = (),
    guest_memory_mb: int = 0,
    with_topology: bool = False,
) -> str:
    """slurm.conf for ``nodes`` nodes of ``cpus_per_node`` CPUs and ``memory_mb`` MB each.

    Also for the nodes of the guest, which share its memory. With
    ``with_topology``, Slurm reads topology.conf beside it.
    """
    node_timeout, message_timeout = _GUEST_TIMEOUTS if guest else _TIMEOUTS
    text = _SLURM_CONF.format(
        login=layout.LOGIN,
        login_address=layout.address(layout.LOGIN),
        munge_socket=files.munge_socket,
        controller_port=layout.CONTROLLER_PORT,
        node_port=layout.NODE_PORT,
        controller_state=files.controller_state,
        log=files.log,
        node_timeout=node_timeout,
        message_timeout=message_timeout,
        nodes=f"n[1-{nodes}]" if nodes > 1 else "n1",
        addresses=_addresses(nodes),
        cpus=cpus_per_node,
        memory_mb=memory_mb,
        partition=layout.PARTITION,
        stress=layout.STRESS_PARTITION,
    )
    if with_topology:
        text += "TopologyPlugin=topology/tree\n"
    return text + _guest_lines(guest, cpus_per_node, guest_memory_mb) if guest else text


def _guest_lines(nodes: Sequence[str], cpus_per_node: int, memory_mb: int) -> str:
    lines = [
        _GUEST_NODE.format(
            name=node,
            address=layout.address(node),
            port=layout.NODE_PORT + number,
            cpus=cpus_per_node,
            memory_mb=memory_mb // len(nodes),
        )
        for number, node in enumerate(nodes)
    ]
    partition = _GUEST_PARTITION.format(partition=layout.RDMA_PARTITION, nodes=",".join(nodes))
    return "".join([*lines, partition])


def _addresses(nodes: int) -> str:
    return f"{layout.NETWORK_PREFIX}.[1-{nodes}]" if nodes > 1 else layout.address("n1")


def hosts(names: Sequence[str]) -> str:
    """/etc/hosts, the same on every node."""
    lines = ["127.0.0.1 localhost", *(f"{layout.address(name)} {name}" for name in names)]
    return "\n".join(lines) + "\n"
