"""Counters of Intel's adapters: irdma for RDMA, ice below it."""

from fabricheck.fabric import rows
from fabricheck.fabric.model import Meaning, Place, Rule
from fabricheck.fabric.rows import Rows

_SOURCE = f"drivers/infiniband/hw/irdma/verbs.c; {rows.ROCE}"
_ETHTOOL = "drivers/net/ethernet/intel/ice/ice_ethtool.c; IEEE 802.1Qbb, IEEE 802.3 31B"
_SENT, _RECEIVED = ("ip4OutPkts", "ip6OutPkts"), ("ip4InPkts", "ip6InPkts")

IRDMA = (
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.LOSS, _SOURCE,
        "RetransSegs, tcpRetransSegs, Nak Sequence Error, Nak Sequence Error Implied, RTO",
        (Rule("loss", _SENT),),
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.LOSS, _SOURCE,
        "Rcvd Out of order packets",
        (Rule("loss", _RECEIVED),),
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.NOT_READY, _SOURCE,
        "RNR sent, RNR received",
        (Rule("rnr", _SENT),),
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.ERROR, rows.DISCARDS, _SOURCE,
        "ip4InDiscards, ip6InDiscards, ip4InTruncatedPkts, ip6InTruncatedPkts",
        (Rule("loss", _RECEIVED),),
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.ERROR, rows.BITS, _SOURCE, "CRC errors",
        (Rule("bit_error"),),
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.ERROR,
        "packets had no way or another form: look at routes, VLANs and addresses", _SOURCE,
        "ip4OutNoRoutes, ip6OutNoRoutes, rxVlanErrors, InOptErrors, tcpInOptErrors, "
        "InProtoErrors, tcpInProtoErrors",
        (Rule("notice"),),
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.CONGESTION, rows.ECN, _SOURCE, "RxECNMrkd",
        (Rule("ecn"), Rule("ecn_share", _RECEIVED)),
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.CONGESTION, rows.ECN, _SOURCE, "cnpSent, cnpHandled",
        (Rule("ecn"),),
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.CONGESTION, rows.CNP_IGNORED, _SOURCE, "cnpIgnored",
        (Rule("notice"),),
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.IGNORED, rows.GAUGE, _SOURCE,
        "ord limit count, ird limit count",
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.PACKETS, rows.TRAFFIC, _SOURCE,
        "ip4InPkts, ip6InPkts, ip4OutPkts, ip6OutPkts, ip4InMcastPkts, ip6InMcastPkts, "
        "ip4OutMcastPkts, ip6OutMcastPkts, ip4InReasmRqd, ip6InReasmRqd, ip4OutSegRqd, "
        "ip6OutSegRqd, InSegs, OutSegs, tcpInSegs, tcpOutSegs, RxUDP, TxUDP, InRdmaReads, "
        "InRdmaSends, InRdmaWrites, OutRdmaReads, OutRdmaSends, OutRdmaWrites, RdmaBnd, RdmaInv, "
        "iwInRdmaReads, iwInRdmaSends, iwInRdmaWrites, iwOutRdmaReads, iwOutRdmaSends, "
        "iwOutRdmaWrites, iwRdmaBnd, iwRdmaInv, Rx atomics, Tx atomics",
    ),
    Rows(
        "irdma", Place.HW_COUNTERS, Meaning.BYTES, rows.TRAFFIC, _SOURCE,
        "ip4InOctets, ip6InOctets, ip4OutOctets, ip6OutOctets, ip4InMcastOctets, "
        "ip6InMcastOctets, ip4OutMcastOctets, ip6OutMcastOctets",
    ),
    Rows(
        "irdma", Place.ETHTOOL, Meaning.CONGESTION, rows.PAUSE, _ETHTOOL,
        "rx_priority_{n}_xoff.nic, tx_priority_{n}_xoff.nic, link_xoff_rx.nic, link_xoff_tx.nic",
        (Rule("pfc"),),
    ),
    Rows(
        "irdma", Place.ETHTOOL, Meaning.ERROR, rows.LINK_DOWN, _ETHTOOL,
        "mac_local_faults.nic, mac_remote_faults.nic, tx_dropped_link_down.nic",
        (Rule("fault"),),
    ),
    Rows(
        "irdma", Place.ETHTOOL, Meaning.ERROR, rows.BITS, _ETHTOOL,
        "rx_crc_errors.nic, illegal_bytes.nic",
        (Rule("bit_error"),),
    ),
    Rows(
        "irdma", Place.ETHTOOL, Meaning.ERROR, rows.DISCARDS, _ETHTOOL, "rx_dropped.nic",
        (Rule("loss", ("rx_unicast.nic",)),),
    ),
    Rows(
        "irdma", Place.ETHTOOL, Meaning.ERROR, rows.MTU, _ETHTOOL, "rx_oversize.nic",
        (Rule("notice"),),
    ),
    Rows(
        "irdma", Place.ETHTOOL, Meaning.PACKETS, rows.TRAFFIC, _ETHTOOL, "rx_unicast.nic",
    ),
)  # fmt: skip
