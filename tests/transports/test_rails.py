"""Ports that a site names alike on all nodes, and what each node finds."""

import subprocess
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.transports.rails import feature, sought
from fabricheck.transports.witness import RANK_WRAPPER, read_lacking, read_rails

pytestmark = pytest.mark.integration

_RAILS = RANK_WRAPPER.with_name("rails.sh").read_text()


@pytest.mark.parametrize(
    ("port", "text"),
    [
        ("mlx5_3:1", "mlx5_3:1"),
        ("netdev=ens3", "netdev=ens3"),
        ("gid=fe80::3:0/112", "gid=fe80:0000:0000:0000:0000:0000:0003*"),
        ("gid=fd00:3::/64", "gid=fd00:0003:0000:0000*"),
        ("gid=fd00::/12", "gid=fd0*"),
        ("gid=10.1.0.0/16", "gid=0000:0000:0000:0000:0000:ffff:0a01*"),
        ("gid=fe80::1/128", "gid=fe80:0000:0000:0000:0000:0000:0000:0001*"),
    ],
)
def test_a_subnet_is_a_pattern_of_the_kernels_text(port: str, text: str) -> None:
    assert sought(port) == text


@pytest.mark.parametrize(
    ("port", "code"),
    [("gid=fd00:3::5/64", "FC3101"), ("gid=x/64", "FC3101"), ("gid=fd00::/9", "FC3102")],
)
def test_a_subnet_that_is_none_is_refused(port: str, code: str) -> None:
    with refused(code):
        sought(port)


def test_a_port_is_a_feature_that_reframe_can_spell() -> None:
    assert feature("gid=fe80::3:0/112") == "port_gid_fe80__3_0_112"


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    """Two cards, of which the first has another name than on other nodes."""
    for number, card in enumerate(("mlx5_4", "mlx5_2")):
        port = tmp_path / "class/infiniband" / card / "ports/1"
        (port / "gids").mkdir(parents=True)
        (port / "gid_attrs/ndevs").mkdir(parents=True)
        (port / "gids/0").write_text("0000:0000:0000:0000:0000:0000:0000:0000\n")
        (port / "gids/3").write_text(f"fd00:000{number}:0000:0000:0000:0000:0000:000a\n")
        (port / "gid_attrs/ndevs/3").write_text(f"ens{number}\n")
        (port / "state").write_text("4: ACTIVE\n" if number else "1: DOWN\n")
        pci = tmp_path / f"bus/pci/devices/0000:4{number}:00.0/infiniband" / card
        pci.mkdir(parents=True)
    return tmp_path


def run(cards: Path, script: str) -> str:
    text = _RAILS.replace("/sys/", f"{cards}/")
    done = subprocess.run(
        ["sh", "-c", f"{text}\n{script}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("port", "found"),
    [
        ("gid=fd00:0::/64", "mlx5_4:1"),
        ("gid=fd00:1::/64", "mlx5_2:1"),
        ("gid=fd00::/16", "mlx5_2:1 mlx5_4:1"),
        ("gid=fd00:2::/64", ""),
        ("netdev=ens0", "mlx5_4:1"),
        ("pci=0000:41:00.0", "mlx5_2:1"),
        ("pci=0000:43:00.0", ""),
        ("mlx5_2:1", "mlx5_2:1"),
        ("mlx5_2:2", ""),
        ("mlx5_0:1", ""),
    ],
)
def test_each_node_finds_its_own(cards: Path, port: str, found: str) -> None:
    assert run(cards, f"find_rail '{sought(port)}'; echo $found") == found


def test_the_ports_of_a_node_are_told_with_their_state(cards: Path) -> None:
    assert run(cards, "ports_here") == "mlx5_2:1 ACTIVE mlx5_4:1 DOWN"
    assert run(cards / "none", "ports_here") == "no card"


def test_words_get_the_ports(cards: Path) -> None:
    asked = "rails=' mlx5_4:1 mlx5_2:2'; name_rails '@device1@:@port1@,@device2@:@port2@ *'"
    assert run(cards, f'{asked}; echo "$word"') == "mlx5_4:1,mlx5_2:2 *"


def test_a_node_without_the_port_says_it_and_runs_nothing(tmp_path: Path) -> None:
    wanted = {"PATH": "/usr/bin:/bin", "PMI_RANK": "1", "FABRICHECK_RAILS": "mlx9_0:1"}
    done = subprocess.run(
        [RANK_WRAPPER, "touch", "ran"], cwd=tmp_path, env=wanted, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert not (tmp_path / "ran").exists()
    (words,) = read_lacking(tmp_path)
    assert words.startswith("expected one RDMA port mlx9_0:1 on ")
    assert "the card is gone" in words


def test_what_ranks_were_given_is_read_by_node(tmp_path: Path) -> None:
    (tmp_path / "witness.0").write_text(
        "rank 0\nhost n1\nrail gid=fd0* mlx5_4:1\nrail x mlx5_2:1\n"
    )
    assert read_rails(tmp_path) == {"n1": {"gid=fd0*": "mlx5_4:1", "x": "mlx5_2:1"}}
    assert read_lacking(tmp_path) == ()


@pytest.fixture
def gpus(tmp_path: Path) -> Path:
    """Two cards and three GPUs: one below the switch of mlx5_0, two below another root port."""
    switch, far = "devices/pci0000:20/0000:20:01.0/0000:21:00.0", "devices/pci0000:80/0000:80:01.0"
    places = {
        f"{switch}/0000:22:00.0/0000:23:00.0": ("0x15b3", "0x020700"),
        f"{switch}/0000:22:01.0/0000:24:00.0": ("0x10de", "0x030200"),
        f"{far}/0000:81:00.0": ("0x15b3", "0x020000"),
        f"{far}/0000:82:00.0": ("0x10de", "0x030200"),
        "devices/pci0000:90/0000:90:01.0/0000:91:00.0": ("0x1002", "0x120000"),
        "devices/pci0000:10/0000:10:00.0": ("0x10de", "0x060400"),
    }
    for place, (vendor, kind) in places.items():
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "class").write_text(f"{kind}\n")
        link = tmp_path / "bus/pci/devices" / folder.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)
    for number, place in enumerate(("0000:23:00.0", "0000:81:00.0")):
        card = tmp_path / f"class/infiniband/mlx5_{number}"
        card.mkdir(parents=True)
        (card / "device").symlink_to((tmp_path / "bus/pci/devices" / place).resolve())
    return tmp_path


@pytest.mark.parametrize(
    ("card", "vendor", "found"),
    [
        ("mlx5_0", "0x10de", "0000:24:00.0 0"),
        ("mlx5_1", "0x10de", "0000:82:00.0 1"),
        ("mlx5_1", "0x1002", "0000:91:00.0 0"),
        ("", "0x10de", "0000:24:00.0 0"),
        ("mlx5_0", "0x8086", ""),
    ],
)
def test_the_gpu_nearest_to_a_card_is_found(gpus: Path, card: str, vendor: str, found: str) -> None:
    assert run(gpus, f"near_gpu '{card}' {vendor}; echo $gpu $gpu_number") == found


def test_words_get_the_gpu(gpus: Path) -> None:
    found = run(
        gpus,
        "near_gpu mlx5_1 0x10de; name_rails --use_cuda_bus_id=@gpu@; echo $word; "
        "name_rails --use_rocm=@gpu_number@; echo $word",
    )
    assert found == "--use_cuda_bus_id=0000:82:00.0\n--use_rocm=1"


def test_a_node_without_such_a_gpu_runs_nothing(tmp_path: Path) -> None:
    wanted = {"PATH": "/usr/bin:/bin", "PMI_RANK": "1", "FABRICHECK_GPU": "0x0000:"}
    done = subprocess.run(
        [RANK_WRAPPER, "touch", "ran"], cwd=tmp_path, env=wanted, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert not (tmp_path / "ran").exists()
    assert read_lacking(tmp_path)[0].startswith("expected a GPU of the vendor 0x0000 on ")
