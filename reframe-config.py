"""ReFrame's configuration: the systems are data, in ``sites/``."""

from pathlib import Path

from fabricheck.reframe_ext.config import configure_reframe as _configure_reframe

site_configuration = _configure_reframe(Path(__file__).resolve().parent)
