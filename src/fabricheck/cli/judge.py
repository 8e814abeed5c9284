"""``fabricheck judge``."""


def judge() -> None:
    """To come."""
