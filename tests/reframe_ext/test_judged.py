"""What every judged check has in common."""

from fabricheck.reframe_ext.judged import Judged


def test_the_old_name_of_env_vars_is_not_read_for_each_line_of_the_log() -> None:
    names = {name for name, _ in Judged.loggable_attrs()}
    assert {"env_vars", "level", "findings", "name"} <= names
    assert "variables" not in names
