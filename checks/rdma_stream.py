"""Streams of messages from transmitters to receivers: rates, losses, and shares of a link."""

import reframe as rfm
from reframe.core.builtins import parameter, variable

from fabricheck.reframe_ext.rdma_stream import StreamBenchmark, stream_cases


@rfm.simple_test
class RdmaStream(StreamBenchmark):
    descr = "Streams of numbered messages"
    case = parameter(stream_cases(), type=tuple, fmt=":".join, loggable=False)
    benchmark = variable(str, value="", loggable=True)
    placement = variable(str, value="", loggable=True)
    time_limit = "5m"
