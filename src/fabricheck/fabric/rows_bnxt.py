"""Counters of Broadcom's NetXtreme-E adapters: bnxt_re for RDMA, bnxt_en below it."""

from fabricheck.fabric import rows
from fabricheck.fabric.model import Meaning, Place, Rule
from fabricheck.fabric.rows import Rows

_SOURCE = f"drivers/infiniband/hw/bnxt_re/hw_counters.c; {rows.ROCE}"
_ETHTOOL = "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c; IEEE 802.1Qbb, IEEE 802.3 31B"
_SENT, _RECEIVED = ("tx_pkts",), ("rx_pkts",)

BNXT = (
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.LOSS, _SOURCE,
        "to_retransmits, seq_err_naks_rcvd, missing_resp",
        (Rule("loss", _SENT),),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.LOSS, _SOURCE, "oos_drop_count",
        (Rule("loss", _RECEIVED),),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.RETRY, _SOURCE, "dup_req",
        (Rule("retry", _RECEIVED),),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.NOT_READY, _SOURCE,
        "rnr_naks_rcvd",
        (Rule("rnr", _SENT),),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.RETRANSMISSION, rows.NOT_READY, _SOURCE,
        "rx_out_of_buffer",
        (Rule("rnr", _RECEIVED),),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.ERROR, rows.RETRIES_EXCEEDED, _SOURCE,
        "max_retry_exceeded",
        (Rule("fault"),),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.ERROR, rows.CARD, _SOURCE,
        "unrecoverable_err, res_mem_err, res_cq_load_err, res_srq_load_err, res_tx_pci_err, "
        "res_rx_pci_err",
        (Rule("fault"),),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.ERROR, rows.DISCARDS, _SOURCE,
        "rx_roce_errors, rx_roce_discards",
        (Rule("loss", _RECEIVED),),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.ERROR, rows.PROGRAM, _SOURCE,
        "bad_resp_err, local_qp_op_err, local_protection_err, mem_mgmt_op_err, "
        "remote_invalid_req_err, remote_access_err, remote_op_err, res_exceed_max, "
        "res_length_mismatch, res_exceeds_wqe, res_opcode_err, res_rx_invalid_rkey, "
        "res_rx_domain_err, res_rx_no_perm, res_rx_range_err, res_tx_invalid_rkey, "
        "res_tx_domain_err, res_tx_no_perm, res_tx_range_err, res_irrq_oflow, res_unsup_opcode, "
        "res_unaligned_atomic, res_rem_inv_err, res_srq_err, res_cmp_err, res_invalid_dup_rkey, "
        "res_wqe_format_err",
        (Rule("notice"),),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.CONGESTION, rows.ECN, _SOURCE, "rx_ecn_marked_pkts",
        (Rule("ecn"), Rule("ecn_share", _RECEIVED)),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.CONGESTION, rows.ECN, _SOURCE,
        "tx_cnp_pkts, rx_cnp_pkts",
        (Rule("ecn"),),
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.IGNORED,
        "the driver fills it with the broadcast packets that it sent", _SOURCE,
        "recoverable_errors",
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.IGNORED, rows.GAUGE, _SOURCE,
        "active_pds, active_ahs, active_qps, active_rc_qps, active_ud_qps, active_srqs, "
        "active_cqs, active_mrs, active_mws, watermark_pds, watermark_ahs, watermark_qps, "
        "watermark_rc_qps, watermark_ud_qps, watermark_srqs, watermark_cqs, watermark_mrs, "
        "watermark_mws, pacing_reschedule, pacing_complete, pacing_alerts, db_fifo_register",
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.PACKETS, rows.TRAFFIC, _SOURCE,
        "tx_pkts, rx_pkts, rx_roce_only_pkts, rx_roce_good_pkts, tx_atomic_req, tx_read_req, "
        "tx_read_resp, tx_write_req, tx_send_req, rx_atomic_req, rx_read_req, rx_read_resp, "
        "rx_write_req, rx_send_req",
    ),
    Rows(
        "bnxt_re", Place.HW_COUNTERS, Meaning.BYTES, rows.TRAFFIC, _SOURCE,
        "tx_bytes, rx_bytes, rx_roce_only_bytes, rx_roce_good_bytes",
    ),
    Rows(
        "bnxt_re", Place.ETHTOOL, Meaning.CONGESTION, rows.PAUSE, _ETHTOOL,
        "rx_pfc_ena_frames_pri{n}, tx_pfc_ena_frames_pri{n}, rx_pause_frames, tx_pause_frames",
        (Rule("pfc"),),
    ),
    Rows(
        "bnxt_re", Place.ETHTOOL, Meaning.CONGESTION, rows.PAUSE, _ETHTOOL,
        "pfc_pri{n}_rx_duration_us, pfc_pri{n}_tx_duration_us",
        (Rule("pause"),),
    ),
    Rows(
        "bnxt_re", Place.ETHTOOL, Meaning.CONGESTION, rows.STORM, _ETHTOOL,
        "continuous_pause_events, continuous_roce_pause_events",
        (Rule("notice"),),
    ),
    Rows(
        "bnxt_re", Place.ETHTOOL, Meaning.ERROR, rows.LINK_DOWN, _ETHTOOL, "link_down_events",
        (Rule("fault"),),
    ),
    Rows(
        "bnxt_re", Place.ETHTOOL, Meaning.ERROR, rows.BITS, _ETHTOOL,
        "rx_fcs_err_frames, rx_pcs_symbol_err",
        (Rule("bit_error"),),
    ),
    Rows(
        "bnxt_re", Place.ETHTOOL, Meaning.ERROR, rows.DISCARDS, _ETHTOOL, "rx_stat_discard",
        (Rule("loss", ("rx_total_frames",)),),
    ),
    Rows(
        "bnxt_re", Place.ETHTOOL, Meaning.ERROR, rows.DISCARDS, _ETHTOOL, "tx_stat_discard",
        (Rule("loss", ("tx_total_frames",)),),
    ),
    Rows(
        "bnxt_re", Place.ETHTOOL, Meaning.ERROR, rows.MTU, _ETHTOOL,
        "rx_ovrsz_frames, rx_mtu_err_frames",
        (Rule("notice"),),
    ),
    Rows(
        "bnxt_re", Place.ETHTOOL, Meaning.IGNORED, rows.TWICE, _ETHTOOL,
        "rx_pfc_frames, tx_pfc_frames",
    ),
    Rows(
        "bnxt_re", Place.ETHTOOL, Meaning.PACKETS, rows.TRAFFIC, _ETHTOOL,
        "rx_total_frames, tx_total_frames",
    ),
)  # fmt: skip
