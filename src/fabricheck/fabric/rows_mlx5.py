"""Counters of NVIDIA's adapters (mlx5), RoCE and InfiniBand."""

from fabricheck.fabric import rows
from fabricheck.fabric.model import Meaning, Place, Rule
from fabricheck.fabric.rows import Rows

_SOURCE = f"drivers/infiniband/hw/mlx5/counters.c; {rows.ROCE}"
_CONGESTION = "drivers/infiniband/hw/mlx5/counters.c; DCQCN (np: receiver, rp: sender)"
_ETHTOOL = "Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst"
_SENT, _RECEIVED = ("port_xmit_packets",), ("port_rcv_packets",)

MLX5 = (
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.LOSS, _SOURCE,
        "packet_seq_err, implied_nak_seq_err, local_ack_timeout_err",
        (Rule("loss", _SENT),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.RETRANSMISSION,
        f"{rows.LOSS}; with adaptive routing it rises without loss: widen the band there",
        _SOURCE, "out_of_sequence",
        (Rule("loss", _RECEIVED),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.RETRY, _SOURCE, "duplicate_request",
        (Rule("retry", _RECEIVED),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.RETRY, _SOURCE,
        "roce_adp_retrans, roce_adp_retrans_to",
        (Rule("retry", _SENT),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.NOT_READY, _SOURCE,
        "rnr_nak_retry_err",
        (Rule("rnr", _SENT),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.NOT_READY, _SOURCE, "out_of_buffer",
        (Rule("rnr", _RECEIVED),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.ERROR, rows.RETRIES_EXCEEDED, _SOURCE,
        "req_transport_retries_exceeded, req_rnr_retries_exceeded",
        (Rule("fault"),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.ERROR, rows.PROGRAM, _SOURCE,
        "resp_local_length_error, req_remote_invalid_request, req_remote_access_errors, "
        "resp_remote_access_errors",
        (Rule("notice"),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.ERROR, rows.BITS, _SOURCE, "rx_icrc_encapsulated",
        (Rule("bit_error"),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.CONGESTION, rows.ECN, _CONGESTION,
        "np_ecn_marked_roce_packets",
        (Rule("ecn"), Rule("ecn_share", _RECEIVED)),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.CONGESTION, rows.ECN, _CONGESTION,
        "np_cnp_sent, rp_cnp_handled",
        (Rule("ecn"),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.CONGESTION, rows.CNP_IGNORED, _CONGESTION,
        "rp_cnp_ignored",
        (Rule("notice"),),
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.IGNORED,
        "rises whenever a connection is closed with receives left", _SOURCE,
        "resp_cqe_error, req_cqe_error, resp_cqe_flush_error, req_cqe_flush_error",
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.IGNORED, "how RoCE restarts after idle times", _SOURCE,
        "roce_slow_restart, roce_slow_restart_cnps, roce_slow_restart_trans",
    ),
    Rows(
        "mlx5", Place.HW_COUNTERS, Meaning.PACKETS, rows.TRAFFIC, _SOURCE,
        "rx_write_requests, rx_read_requests, rx_atomic_requests, rx_dct_connect",
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.CONGESTION, rows.PAUSE, _ETHTOOL,
        "rx_prio{n}_pause, tx_prio{n}_pause, rx_global_pause, tx_global_pause",
        (Rule("pfc"),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.CONGESTION, rows.PAUSE, _ETHTOOL,
        "rx_prio{n}_pause_duration, tx_prio{n}_pause_duration, rx_global_pause_duration, "
        "tx_global_pause_duration",
        (Rule("pause"),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.CONGESTION, rows.ECN, _ETHTOOL,
        "rx_ecn_mark, rx_prio{n}_marked",
        (Rule("ecn"),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.CONGESTION, rows.STORM, _ETHTOOL,
        "tx_pause_storm_warning_events",
        (Rule("notice"),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.ERROR, rows.STORM, _ETHTOOL, "tx_pause_storm_error_events",
        (Rule("fault"),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.ERROR, rows.LINK_DOWN, _ETHTOOL, "link_down_events_phy",
        (Rule("fault"),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.ERROR, rows.BITS, _ETHTOOL,
        "rx_crc_errors_phy, rx_symbol_err_phy, rx_pcs_symbol_err_phy",
        (Rule("bit_error"),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.ERROR, rows.DISCARDS, _ETHTOOL,
        "rx_discards_phy, rx_prio{n}_discards, rx_prio{n}_buf_discard, rx_prio{n}_cong_discard",
        (Rule("loss", ("rx_packets_phy",)),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.ERROR, rows.DISCARDS, _ETHTOOL, "tx_discards_phy",
        (Rule("loss", ("tx_packets_phy",)),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.ERROR, rows.MTU, _ETHTOOL,
        "rx_oversize_pkts_phy, rx_out_of_range_len_phy",
        (Rule("notice"),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.ERROR, "the transceiver reports a fault: replace it",
        _ETHTOOL, "module_bus_stuck, module_high_temp, module_bad_shorted",
        (Rule("notice"),),
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.IGNORED, rows.TWICE, _ETHTOOL,
        "rx_pause_ctrl_phy, tx_pause_ctrl_phy, rx_out_of_buffer, rx_corrected_bits_phy",
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.PACKETS, rows.TRAFFIC, _ETHTOOL,
        "rx_packets_phy, tx_packets_phy",
    ),
    Rows(
        "mlx5", Place.ETHTOOL, Meaning.BYTES, rows.TRAFFIC, _ETHTOOL, "rx_bytes_phy, tx_bytes_phy",
    ),
)  # fmt: skip
