"""Nodes of several cards, made of the recorded tree of one."""

from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "fabric"


def grow(root: Path, cards: int = 8, tree: str = "mlx5_roce") -> Path:
    """A tree with so many cards ``mlx5_N``, each over an interface of its own."""
    for name in ("self/status", "self/limits"):
        write(root, f"proc/{name}", (Path("/proc") / name).read_text())
    for line in (DATA / f"{tree}.txt").read_text().splitlines():
        path, _, value = line.partition(":")
        for card in range(cards) if "mlx5_0" in line or "enp33s0f0np0" in line else (0,):
            name, text = (
                each.replace("mlx5_0", f"mlx5_{card}")
                .replace("enp33s0f0np0", f"enp{33 + card}s0f0np0")
                .replace("0000:21:00.0", f"0000:{33 + card:02x}:00.0")
                for each in (path, value)
            )
            write(root, name, f"{text}\n", "a")
    return root


def write(root: Path, name: str, text: str, mode: str = "w") -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    with (root / name).open(mode) as file:
        file.write(text)


def plug(root: Path, device: str, *hops: str) -> None:
    """Plug a card in: ``ADDRESS NOW MAX`` from the root port to the card, links as x16@32.0."""
    card = root / f"sys/class/infiniband/{device}/device"
    place = root / "sys/devices/pci0000:20"
    for address, *ends in map(str.split, hops):
        place /= address
        for which, link in zip(("current", "max"), ends, strict=True):
            width, _, speed = link.removeprefix("x").partition("@")
            write(place, f"{which}_link_width", f"{width}\n")
            write(place, f"{which}_link_speed", f"{speed} GT/s PCIe\n")
    for file in card.iterdir():
        file.rename(place / file.name)
    card.rmdir()
    card.symlink_to(place)


def configure(root: Path, address: str, device_control: int, acs: int | None = None) -> None:
    """The configuration space that root reads, with PCIe at 0x60 behind MSI-X, ACS behind AER."""
    space = bytearray(4096)
    space[0x34], space[0x40], space[0x41] = 0x40, 0x11, 0x60
    space[0x60], space[0x61] = 0x10, 0
    space[0x68:0x6A] = device_control.to_bytes(2, "little")
    space[0x100:0x104] = (0x0001 | 0x10000 | (0x148 if acs is not None else 0) << 20).to_bytes(
        4, "little"
    )
    if acs is not None:
        space[0x148:0x14C] = (0x000D | 0x10000).to_bytes(4, "little")
        space[0x14E:0x150] = acs.to_bytes(2, "little")
    (place,) = root.glob(f"sys/devices/**/{address}")
    (place / "config").write_bytes(space)
