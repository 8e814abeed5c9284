"""What transceivers and FEC of a card report, held to the limits that a module has itself."""

import re
from collections.abc import Iterator
from math import inf
from typing import Final

from fabricheck.nodes.told import Told

FAULT: Final = "optics fault"
"""The fact of a card whose module is beyond a limit of its own."""

_RX, _TX, _BIAS, _HEAT = "rx power", "tx power", "bias", "module temperature"
# ethtool's names: of SFP, of QSFP and CMIS, then of the limits; mlxlink has a range in brackets.
_NAMES: Final = {
    "Receiver signal average optical power": _RX,
    "Rcvr signal avg optical power": _RX,
    "Laser rx power": _RX,
    "Rx Power Current [dBm]": _RX,
    "Transmit avg optical power": _TX,
    "Laser output power": _TX,
    "Tx Power Current [dBm]": _TX,
    "Laser tx bias current": _BIAS,
    "Laser bias current": _BIAS,
    "Bias Current [mA]": _BIAS,
    "Module temperature": _HEAT,
    "Temperature [C]": _HEAT,
}
_UNITS: Final = {_RX: "dBm", _TX: "dBm", _BIAS: "mA", _HEAT: "C"}
_BERS: Final = {
    "Raw Physical BER": "raw BER",
    "Effective Physical BER": "effective BER",
    "Symbol Errors": "symbol errors",
    "FEC": "FEC",
    "Active FEC encoding": "FEC",
}
OWN: Final = (*_UNITS, *dict.fromkeys(_BERS.values()), FAULT)
"""All facts; a module's values are those of no other, so no peers are asked."""
_NUMBER: Final = r"(-?inf|-?\d+(?:\.\d+)?)"
_LINE: Final = re.compile(
    r"(?P<name>.+?) ?(?P<limit>(?:high|low) (?:alarm|warning) threshold)?"
    r"(?: ?\(Channel (?P<lane>\d+)\))? *: *(?P<value>.*)"
)
_RANGE: Final = re.compile(rf"\[{_NUMBER}\.\.{_NUMBER}\]")
_BER: Final = re.compile(r"\d+(?:\.\d+)?(?:E-?\d+)?", re.IGNORECASE)
_WORST_BER: Final = 1e-12
"""After FEC: the objective of IEEE 802.3 for 25 Gbit/s a lane and more."""
_DARK: Final = -40.0

Limits = dict[tuple[str, str], float]


def read_optics(told: Told, device: str, *, has_link: bool) -> Iterator[tuple[str, str]]:
    """The facts of a card's modules, by name; empty where nothing tells them.

    Args:
        told: what the node told.
        device: the card.
        has_link: whether a port of it is active: without a link no light is no news.
    """
    values, limits, words = _read(told, device)
    for name, unit in _UNITS.items():
        lanes = " ".join(f"{value:g}" for _, value in sorted(values.get(name, {}).items()))
        yield name, f"{lanes} {unit}" if lanes else ""
    yield from words.items()
    wrong = [*_beyond(values, limits)] if has_link else []
    ber = words.get("effective BER", "")
    if has_link and _BER.fullmatch(ber) and float(ber) > _WORST_BER:
        wrong.append(f"effective BER {ber}, above {_WORST_BER:g}")
    yield FAULT, "; ".join(wrong)


def _read(told: Told, device: str) -> tuple[dict[str, dict[int, float]], Limits, dict[str, str]]:
    values: dict[str, dict[int, float]] = {}
    limits: Limits = {}
    words: dict[str, str] = {}
    lines = (
        line for tool in ("module", "mlxlink") for line in told.lines.get(f"{tool}/{device}", ())
    )
    for match in filter(None, map(_LINE.fullmatch, lines)):
        name, text = match["name"].strip(), match["value"].strip()
        if name in _BERS and text != "N/A":
            words.setdefault(_BERS[name], text)
        if not (kind := _NAMES.get(name)):
            continue
        if match["limit"]:
            for edge in _numbers(kind, text):
                limits[kind, match["limit"].removesuffix(" threshold")] = edge
        elif kind not in values or match["lane"]:
            if ends := _RANGE.search(text):
                limits[kind, "low alarm"], limits[kind, "high alarm"] = map(float, ends.groups())
            for lane, value in enumerate(_numbers(kind, text.partition("[")[0])):
                values.setdefault(kind, {})[int(match["lane"] or lane)] = value
    return values, limits, words


def _numbers(kind: str, text: str) -> list[float]:
    """The numbers of a line: of mlxlink one for each lane, of ethtool the one before its unit."""
    unit = {"C": "degrees C"}.get(_UNITS[kind], _UNITS[kind])
    found = re.findall(rf"{_NUMBER} {unit}", text) or re.findall(_NUMBER, text)
    return [max(float(each), _DARK) for each in found]


def _beyond(values: dict[str, dict[int, float]], limits: Limits) -> Iterator[str]:
    off = {lane for lane, value in values.get(_BIAS, {}).items() if not value}
    for (kind, limit), edge in limits.items():
        side, _, severity = limit.partition(" ")
        if limits.get((kind, f"high {severity}")) == limits.get((kind, f"low {severity}")):
            continue  # a module without limits has zeros
        for lane, value in values.get(kind, {}).items():
            sign = 1 if side == "high" else -1
            # An alarm says what a warning says, and a lane that is off neither sends nor gets.
            is_said = severity == "warning" and sign * value > sign * limits.get(
                (kind, f"{side} alarm"), sign * inf
            )
            is_off = kind != _HEAT and lane in off
            if sign * value > sign * edge and not is_said and not is_off:
                place = f" of lane {lane}" if len(values[kind]) > 1 else ""
                yield f"{kind}{place} {value:g} {_UNITS[kind]}, its {limit} is {edge:g}"
