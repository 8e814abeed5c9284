"""The least that a site file may say."""


def site(name: str, more: str = "") -> str:
    """The text of a site file of one system."""
    partition = "{name: main, scheduler: local, launcher: local, environs: []}"
    return (
        f"systems: [{{name: {name}, hostnames: [x], partitions: [{partition}]}}]\n"
        f"environments: []\n{more}\n"
    )
