"""What ``fabricheck locate`` says of nodes with four cards each, from simulated rounds."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.localise.made import kept

from fabricheck.localise.located import locate
from simulation.pairs import Kind, Simulated

PORTS = tuple(f"mlx5_{number}:1" for number in range(4))
SLOW = math.log(4)


@pytest.fixture
def say(fabricheck, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The command, where each port has such nodes, and some of these send so on one port."""

    def located(nodes: int, slow: dict[int, tuple[int, ...]], *options: str, ports=PORTS, down=-1):
        cases = []
        for number, port in enumerate(ports):
            left = nodes - (number == down)
            dead = f"n{left}" if left < nodes else ""
            simulated = Simulated(Kind(leaves=1, hosts=left, bad=0), seed=number)
            for node in slow.get(number, ()):
                simulated.sends[node] = SLOW
            output = kept(simulated, tmp_path / f"{nodes} {port}", port=port, dead=dead)
            case = SimpleNamespace(
                benchmark="pair_health", level=locate(output).level, output=str(output), port=port,
                title=f"pair_health rc-2n@{port}", system="hpc", partition="cpu", environ="openmpi",
                transport="rc", causes=(),
            )  # fmt: skip
            cases.append(case)
        monkeypatch.setattr("fabricheck.runner.selection.check", lambda *_: None)
        monkeypatch.setattr("fabricheck.runner.session.run", lambda *_, **__: (0, "a session"))
        monkeypatch.setattr("fabricheck.report.load.load", lambda *_: SimpleNamespace(cases=cases))
        return fabricheck("locate", "--system", "testbed", *options)

    return located


@pytest.mark.parametrize("port", range(4))
def test_of_many_nodes_the_card_is_named(say, port: int) -> None:
    code, out, _ = say(6, {port: (2,)})
    named = f"n2: card {PORTS[port]}; its 3 others are not accused"
    assert (code, out.splitlines()[-1]) == (1, named)
    assert "n2 sends at 0.2" in out


def test_of_two_nodes_the_port_is_named_with_both_ends(say) -> None:
    code, out, _ = say(2, {3: (1,)})
    assert code == 1
    (told,) = [line for line in out.splitlines() if line.startswith("card")]
    assert told.startswith("card mlx5_3:1 of n0 or of n1, or the cable between; n1 to n0 at 0.2")
    assert told.endswith("x the rate of 3 other ports")
    assert json.loads(say(2, {3: (1,)}, "--json")[1])["cards"] == [told]


def test_where_all_nodes_send_slowly_over_one_port_it_is_that_port(say) -> None:
    code, out, _ = say(4, {1: (0, 1, 2, 3)})
    assert code == 1
    assert out.splitlines()[-1].startswith(
        "port mlx5_1:1: several cards, or their switch; 12 of 12 ways at 0.2"
    )


@pytest.mark.parametrize("nodes", [2, 3, 6])
def test_healthy_cards_are_not_accused(say, nodes: int) -> None:
    code, out, _ = say(nodes, {})
    assert (code, json.loads(say(nodes, {}, "--json")[1])["cards"]) == (0, [])
    assert "card" not in out


@pytest.mark.parametrize("ports", [2, 4])
def test_a_node_with_a_dead_port_is_not_good(say, tmp_path: Path, ports: int) -> None:
    good = tmp_path / "good"
    code, out, _ = say(3, {}, "--node-file", str(good), ports=PORTS[:ports], down=1)
    assert (code, good.read_text()) == (1, "n0\nn1\n")
    assert f"n2: card {PORTS[1]}" in out


def test_two_nodes_with_two_ports_decide_nothing(say, tmp_path: Path) -> None:
    good = tmp_path / "good"
    code, out, _ = say(2, {1: (0,)}, "--node-file", str(good), ports=PORTS[:2])
    assert (code, "card" in out, good.exists()) == (3, False, False)
