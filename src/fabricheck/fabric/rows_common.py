"""Counters of every InfiniBand port, of Soft-RoCE, and of IP below it."""

from fabricheck.fabric import rows
from fabricheck.fabric.model import Meaning, Place, Rule
from fabricheck.fabric.rows import Rows

_SYSFS = f"{rows.ABI}; drivers/infiniband/core/sysfs.c"
_RXE = "drivers/infiniband/sw/rxe/rxe_hw_counters.c"
_SNMP = "RFC 3168 (ECN); net/ipv6/proc.c, net/ipv4/proc.c"

_FOUR_BITS, _EIGHT_BITS, _SIXTEEN_BITS = 0xF, 0xFF, 0xFFFF

COMMON = (
    Rows(
        "any", Place.COUNTERS, Meaning.ERROR, rows.LINK_DOWN, _SYSFS,
        "link_downed, link_error_recovery",
        (Rule("fault"),),
        {"link_downed": _EIGHT_BITS, "link_error_recovery": _EIGHT_BITS},
    ),
    Rows(
        "any", Place.COUNTERS, Meaning.ERROR, rows.BITS, _SYSFS,
        "local_link_integrity_errors, excessive_buffer_overrun_errors",
        (Rule("fault"),),
        {"local_link_integrity_errors": _FOUR_BITS, "excessive_buffer_overrun_errors": _FOUR_BITS},
    ),
    Rows(
        "any", Place.COUNTERS, Meaning.ERROR, rows.BITS, _SYSFS,
        "symbol_error, port_rcv_errors, port_rcv_remote_physical_errors",
        (Rule("bit_error"),),
        {
            "symbol_error": _SIXTEEN_BITS,
            "port_rcv_errors": _SIXTEEN_BITS,
            "port_rcv_remote_physical_errors": _SIXTEEN_BITS,
        },
    ),
    Rows(
        "any", Place.COUNTERS, Meaning.ERROR, rows.DISCARDS, _SYSFS, "port_xmit_discards",
        (Rule("loss", ("port_xmit_packets",)),),
        {"port_xmit_discards": _SIXTEEN_BITS},
    ),
    Rows(
        "any", Place.COUNTERS, Meaning.ERROR, rows.BLOCKED, _SYSFS,
        "port_xmit_constraint_errors, port_rcv_constraint_errors",
        (Rule("notice"),),
        {"port_xmit_constraint_errors": _EIGHT_BITS, "port_rcv_constraint_errors": _EIGHT_BITS},
    ),
    Rows(
        "any", Place.COUNTERS, Meaning.CONGESTION,
        "the port waited for credits; how long a tick is differs between adapters", _SYSFS,
        "port_xmit_wait",
    ),
    Rows(
        "any", Place.COUNTERS, Meaning.IGNORED,
        "management packets and multicast that comes back: they rise on a healthy fabric", _SYSFS,
        "VL15_dropped, port_rcv_switch_relay_errors",
    ),
    Rows(
        "any", Place.COUNTERS, Meaning.PACKETS, rows.TRAFFIC, _SYSFS,
        "port_xmit_packets, port_rcv_packets, unicast_xmit_packets, unicast_rcv_packets, "
        "multicast_xmit_packets, multicast_rcv_packets",
    ),
    Rows(
        "any", Place.COUNTERS, Meaning.BYTES, f"{rows.TRAFFIC}, in words of four bytes", _SYSFS,
        "port_xmit_data, port_rcv_data",
    ),
    Rows(
        "any", Place.HW_COUNTERS, Meaning.IGNORED, "how often the kernel asks the adapter, in ms",
        rows.ABI, "lifespan",
    ),
)  # fmt: skip

RXE = (
    Rows(
        "rxe", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.LOSS, _RXE, "out_of_seq_request",
        (Rule("soft_loss", ("rcvd_pkts",)),),
    ),
    Rows(
        "rxe", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.LOSS, _RXE, "rcvd_seq_err, send_err",
        (Rule("soft_loss", ("sent_pkts",)),),
    ),
    Rows(
        "rxe", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.RETRY, _RXE, "completer_retry_err",
        (Rule("soft_retry", ("sent_pkts",)),),
    ),
    Rows(
        "rxe", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.NOT_READY, _RXE,
        "rcvd_rnr_err, send_rnr_err",
        (Rule("rnr", ("sent_pkts",)),),
    ),
    Rows(
        "rxe", Place.HW_COUNTERS, Meaning.ERROR, rows.RETRIES_EXCEEDED, _RXE,
        "retry_exceeded_err, retry_rnr_exceeded_err",
        (Rule("fault"),),
    ),
    Rows(
        "rxe", Place.HW_COUNTERS, Meaning.ERROR, rows.LINK_DOWN, _RXE, "link_downed",
        (Rule("fault"),),
    ),
    Rows(
        "rxe", Place.HW_COUNTERS, Meaning.IGNORED,
        "rises whenever a busy CPU answers late, and a hundredfold with reordering", _RXE,
        "duplicate_request, ack_deferred",
    ),
    Rows(
        "rxe", Place.HW_COUNTERS, Meaning.PACKETS, rows.TRAFFIC, _RXE,
        "sent_pkts, rcvd_pkts, rdma_sends, rdma_recvs",
    ),
    Rows(
        "rxe", Place.IP, Meaning.CONGESTION, rows.ECN, _SNMP, "Ip6InCEPkts",
        (
            Rule("ecn"),
            Rule("ecn_share", ("Ip6InECT0Pkts", "Ip6InECT1Pkts", "Ip6InCEPkts")),
        ),
    ),
    Rows(
        "rxe", Place.IP, Meaning.CONGESTION, rows.ECN, f"{_SNMP}; of all interfaces together",
        "InCEPkts",
        (Rule("ecn"), Rule("ecn_share", ("InECT0Pkts", "InECT1Pkts", "InCEPkts"))),
    ),
    Rows(
        "rxe", Place.IP, Meaning.PACKETS, rows.TRAFFIC, _SNMP,
        "Ip6InECT0Pkts, Ip6InECT1Pkts, InECT0Pkts, InECT1Pkts",
    ),
)  # fmt: skip
