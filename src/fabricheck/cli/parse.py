"""``fabricheck parse``."""


def parse() -> None:
    """To come."""
