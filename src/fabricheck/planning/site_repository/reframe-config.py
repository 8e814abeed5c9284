"""ReFrame's configuration: the systems are data, in ``sites/`` here and in fabricheck."""

from fabricheck.reframe_ext.config import configure_reframe as _configure_reframe

site_configuration = _configure_reframe()
