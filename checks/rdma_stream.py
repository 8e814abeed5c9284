"""Streams of messages from transmitters to receivers: rates, losses, and shares of a link."""

import reframe as rfm
from reframe.core.builtins import variable

from fabricheck.reframe_ext.case import BuiltCase, measured


@rfm.simple_test
class RdmaStream(BuiltCase):
    descr = "Streams of numbered messages"
    benchmark = measured("stream")
    messages = variable(int, value=100_000, loggable=True)
    settable = ("messages",)
    time_limit = "5m"
