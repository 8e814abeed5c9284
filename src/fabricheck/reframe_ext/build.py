"""Building what the checks run."""

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import run_after, run_before, sanity_function
from reframe.core.exceptions import ReframeError
from reframe.utility import sanity as sn

from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext.again import RunsAgain
from fabricheck.reframe_ext.allocation import AllocationScheduler
from fabricheck.reframe_ext.cmake_build import CMakeBuild
from fabricheck.reframe_ext.reframe import without_deprecated
from fabricheck.reframe_ext.spack_build import SpackBuild


class BenchBuild(RunsAgain, rfm.CompileOnlyRegressionTest):
    """The programs that checks run, built once for each environment.

    An environment with the feature ``spack`` gets the OSU Micro-Benchmarks and our programs from
    Spack (``SpackBuild``); any other gets our programs from CMake (``CMakeBuild``), with
    ``mpi_probe`` in OSU's place. Both give the same answers; ``provider`` says which it is.
    """

    descr = "Build of the benchmark programs"
    sourcesdir = None
    build_locally = True

    @run_after("setup")
    def choose(self) -> None:
        """Build with what the environment offers, and say with which programs it will measure."""
        environ = self.current_environ
        self._build: CMakeBuild | SpackBuild
        if "spack" in environ.features:
            try:
                stage = Path(self.stagedir)
                self._build = SpackBuild(environ, stage, dry_run=self.is_dry_run())
            except FabricheckError as error:
                raise ReframeError(str(error)) from None
        else:
            self._build = CMakeBuild(self.current_system.name, environ)
        self.build_system = self._build.build_system
        self.logger.info(f"{environ.name} is measured with {self._build.provider}")

    @run_before("compile")
    def configure(self) -> None:
        """Tell ReFrame's build system what to build, and how."""
        self.prebuild_cmds = self._build.before()
        self._build.configure(self.build_system)
        self.postbuild_cmds = self._build.after()
        AllocationScheduler.builds.append(self.build_job)

    @sanity_function
    def find_programs(self) -> object:
        """The build has left the programs, linked to the MPI of the environment."""
        try:
            missing = self._build.missing()
        except FabricheckError as error:
            missing = str(error)
        return sn.assert_false(missing, msg=missing)

    @property
    def programs(self) -> CMakeBuild | SpackBuild:
        """What was built: which programs measure MPI, where each is, and where they come from."""
        return self._build


without_deprecated(BenchBuild)
