"""ReFrame's configuration: the systems are data, in ``sites/``."""

from pathlib import Path

from fabricheck.reframe_ext.config import site_configuration as _site_configuration

site_configuration = _site_configuration(Path(__file__).resolve().parent)
