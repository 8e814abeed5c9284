"""Spack recipe of perftest, which Spack's own repository does not have."""

from spack.package import depends_on, license, version
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage


class Perftest(AutotoolsPackage):
    """Latency and bandwidth of verbs between a server and its client: ib_write_bw and others."""

    homepage = "https://github.com/linux-rdma/perftest"
    git = "https://github.com/linux-rdma/perftest.git"

    license("GPL-2.0-only OR BSD-2-Clause")

    # A commit says what is built as well as the checksum of an archive does.
    version("4.5-0.17", tag="v4.5-0.17", commit="e63987c4223b08f8c67390c7f60836ad2bf4a6e0")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pciutils")
    depends_on("rdma-core")
