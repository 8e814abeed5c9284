"""MVAPICH as Spack's own repository has it, mended: v2025.11.0 reads variants that it lacks."""

from spack.package import variant, version
from spack_repo.builtin.packages.mvapich.package import Mvapich as OfSpack


class Mvapich(OfSpack):
    """MVAPICH 4, the successor of MVAPICH2."""

    # Later releases of spack-packages corrected the checksum of this archive.
    version("4.1", sha256="25a53d3725b669e2c648158fb7c9fc5b1388953f3a2f949748586c447d0e43ee")

    # The recipe asks for their values, and ends with a KeyError where they are not defined.
    variant("ch3_rank_bits", default="32", values=("16", "32"), description="bits of a rank")
    variant("pmi_version", default="none", values=("none",), description="that of Slurm")
