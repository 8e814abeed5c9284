"""``fabricheck report``."""


def report() -> None:
    """To come."""
