"""Puts the suite's own files into a wheel, beside its modules; pyproject.toml says all else."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SUITE = (
    *("checks", "sites", "references", "reframe-config.py", "spack.yaml"),
    *("src/bench", "src/spack_repo", "bin", "docs"),
)


class BuildWithSuite(build_py):
    """The modules, and in a wheel what ``fabricheck.provenance.SUITE`` holds."""

    def run(self) -> None:
        """Build."""
        super().run()
        if self.editable_mode:
            return
        root = Path(self.build_lib, "fabricheck", "suite")
        shutil.rmtree(root, ignore_errors=True)
        for name in SUITE:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            if Path(name).is_dir():
                shutil.copytree(
                    name, root / name, ignore=shutil.ignore_patterns("__pycache__", "images")
                )
            else:
                shutil.copy(name, root / name)


setup(cmdclass={"build_py": BuildWithSuite})
