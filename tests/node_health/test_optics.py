"""Transceivers and FEC, from what ethtool and mlxlink print."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import run
from tests.node_health.trees import grow, write

from fabricheck.node_health import one_node

pytestmark = pytest.mark.integration

NETDEV = "enp33s0f0np0"
LIMITS = """\tLaser bias current high alarm threshold   : 12.000 mA
\tLaser bias current low alarm threshold    : 3.000 mA
\tLaser bias current high warning threshold : 11.000 mA
\tLaser bias current low warning threshold  : 4.000 mA
\tLaser output power high alarm threshold   : 3.1623 mW / 5.00 dBm
\tLaser output power low alarm threshold    : 0.1000 mW / -10.00 dBm
\tLaser output power high warning threshold : 2.5119 mW / 4.00 dBm
\tLaser output power low warning threshold  : 0.1259 mW / -9.00 dBm
\tModule temperature high alarm threshold   : 80.00 degrees C / 176.00 degrees F
\tModule temperature low alarm threshold    : -10.00 degrees C / 14.00 degrees F
\tModule temperature high warning threshold : 70.00 degrees C / 158.00 degrees F
\tModule temperature low warning threshold  : 0.00 degrees C / 32.00 degrees F
\tLaser rx power high alarm threshold       : 3.1623 mW / 5.00 dBm
\tLaser rx power low alarm threshold        : 0.0501 mW / -13.00 dBm
\tLaser rx power high warning threshold     : 2.5119 mW / 4.00 dBm
\tLaser rx power low warning threshold      : 0.1000 mW / -10.00 dBm
"""
QSFP = f"""\tIdentifier                                : 0x11 (QSFP28)
\tModule temperature                        : 47.11 degrees C / 116.79 degrees F
\tModule voltage                            : 3.2531 V
\tAlarm/warning flags implemented           : Yes
\tLaser tx bias current (Channel 1)         : 6.600 mA
\tLaser tx bias current (Channel 2)         : 6.700 mA
\tTransmit avg optical power (Channel 1)    : 0.9077 mW / -0.42 dBm
\tTransmit avg optical power (Channel 2)    : 0.9700 mW / -0.13 dBm
\tRcvr signal avg optical power(Channel 1)  : 0.9522 mW / -0.21 dBm
\tRcvr signal avg optical power(Channel 2)  : 0.9039 mW / -0.44 dBm
\tLaser bias current high alarm   (Chan 1)  : Off
\tModule temperature high alarm             : Off
{LIMITS}"""
SFP = f"""\tIdentifier                                : 0x03 (SFP)
\tLaser bias current                        : 6.986 mA
\tLaser output power                        : 0.4678 mW / -3.30 dBm
\tReceiver signal average optical power     : 0.4000 mW / -3.98 dBm
\tModule temperature                        : 34.16 degrees C / 93.48 degrees F
{LIMITS}"""
MLXLINK = """Operational Info
----------------
State                           : Active
FEC                             : Standard RS-FEC - RS(528,514)

Physical Counters and BER Info
------------------------------
Effective Physical Errors       : 0
Effective Physical BER          : 15E-255
Raw Physical BER                : 2E-10
Symbol Errors                   : 0

Module Info
-----------
Temperature [C]                 : \x1b[32m45 [-5..75]\x1b[0m
Voltage [mV]                    : 3246.1 [3135..3465]
Bias Current [mA]               : 6.750,6.750,6.750,6.750 [2..15]
Rx Power Current [dBm]          : 1.235,0.936,1.057,0.829 [-13.098..5.5]
Tx Power Current [dBm]          : 0.9,0.8,0.9,0.7 [-11.4..5.4]
"""
COPPER = (
    "\tIdentifier   : 0x11 (QSFP28)\n\tTransmitter technology : 0xa0 (Copper cable unequalized)\n"
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FABRICHECK_NODE_ROOT", str(tmp_path / "tree"))
    return grow(tmp_path / "tree", cards=1)


def judge() -> tuple[dict[str, str], Any]:
    said = json.loads(run("node", "--json").output)
    (line,) = (each for each in said["lines"] if each["rule"] == "optics")
    return said["facts"]["mlx5_0"], line


def test_each_lane_of_a_sound_module_is_a_fact(root: Path) -> None:
    write(root, f"module/{NETDEV}", QSFP)
    write(root, f"fec/{NETDEV}", "FEC parameters\nActive FEC encoding: RS\n")
    facts, line = judge()
    assert facts["rx power"] == "-0.21 -0.44 dBm"
    assert facts["tx power"] == "-0.42 -0.13 dBm"
    assert (facts["bias"], facts["module temperature"]) == ("6.6 6.7 mA", "47.11 C")
    assert facts["FEC"] == "RS"
    assert (line["level"], "optics fault" in facts) == ("good", False)


@pytest.mark.parametrize(
    ("module", "old", "new", "words"),
    [
        (QSFP, "0.9039 mW / -0.44", "0.0600 mW / -12.22",
         "rx power of lane 2 -12.22 dBm, its low warning is -10"),
        (QSFP, "0.9039 mW / -0.44", "0.0000 mW / -inf",
         "rx power of lane 2 -40 dBm, its low alarm is -13"),
        (QSFP, "47.11 degrees", "75.00 degrees", "module temperature 75 C, its high warning"),
        (QSFP, "0.9700 mW / -0.13", "3.5000 mW / 5.44", "tx power of lane 2 5.44 dBm, its high"),
        (SFP, ": 6.986 mA", ": 12.500 mA", "bias 12.5 mA, its high alarm is 12"),
        (SFP, "0.4000 mW / -3.98", "0.0900 mW / -10.46", "rx power -10.46 dBm, its low warning"),
    ],
)  # fmt: skip
def test_a_lane_beyond_a_limit_of_the_module_is_a_warning(
    root: Path, module: str, old: str, new: str, words: str
) -> None:
    assert old in module
    write(root, f"module/{NETDEV}", module.replace(old, new))
    facts, line = judge()
    assert facts["optics fault"].startswith(words)
    assert ";" not in facts["optics fault"], "once, not for warning and alarm"
    assert (line["level"], line["words"].startswith(f"mlx5_0 {words}")) == ("warning", True)
    write(root, "sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n")
    assert "optics fault" not in judge()[0], "without a link no light is no news"


def test_a_lane_that_is_off_and_a_module_without_limits_are_not_judged(root: Path) -> None:
    off = QSFP.replace(": 6.700 mA", ": 0.000 mA").replace("0.9039 mW / -0.44", "0.0 mW / -inf")
    write(root, f"module/{NETDEV}", off)
    assert judge()[1]["level"] == "good"
    zeros = "\n".join(
        f"{line.partition(':')[0]}: 0.0000 mW / 0.00 dBm" if "rx power" in line else line
        for line in QSFP.splitlines()
    )
    write(root, f"module/{NETDEV}", zeros)
    assert judge()[1]["level"] == "good"


def test_mlxlink_tells_what_ethtool_does_not(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "mlxlink/mlx5_0", MLXLINK)
    assert "rx power" not in judge()[0], "it takes too long for a prolog"
    monkeypatch.setattr(one_node, "GROUPS", (*one_node.GROUPS, "mlxlink"))
    facts, line = judge()
    assert facts["rx power"] == "1.235 0.936 1.057 0.829 dBm"
    assert (facts["raw BER"], facts["effective BER"]) == ("2E-10", "15E-255")
    assert (facts["symbol errors"], facts["FEC"]) == ("0", "Standard RS-FEC - RS(528,514)")
    assert (facts["module temperature"], line["level"]) == ("45 C", "good")
    worse = MLXLINK.replace("15E-255", "3E-9").replace("0.936", "-14.2")
    write(root, "mlxlink/mlx5_0", worse)
    facts, _ = judge()
    assert facts["optics fault"] == (
        "rx power of lane 1 -14.2 dBm, its low alarm is -13.098; effective BER 3E-9, above 1e-12"
    )


@pytest.mark.parametrize("module", ["", COPPER])
def test_a_module_that_is_not_read_is_said_to_be_so(root: Path, module: str) -> None:
    write(root, f"module/{NETDEV}", module)
    facts, line = judge()
    assert not {"rx power", "module temperature", "optics fault"} & facts.keys()
    assert (line["level"], "no module is read" in line["words"]) == (None, True)


def test_a_manifest_of_a_sound_node_may_have_its_values(root: Path, tmp_path: Path) -> None:
    write(root, f"module/{NETDEV}", QSFP)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(run("node", "--json").output)
    write(root, f"module/{NETDEV}", QSFP.replace("47.11 degrees", "52.00 degrees"))
    assert run("node", "--manifest", str(manifest)).exit_code == 0
