"""What every benchmark on GPUs asks of a partition, and what must hold of its devices."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fabricheck.launch.measurement import Evidence, Job, Setting
from fabricheck.measures.curve import Curve
from fabricheck.measures.gpu import FAKE_DEVICE, GpuPath, is_fake
from fabricheck.schedulers import launcher_of
from fabricheck.transports.families import PROTOCOL_TABLES
from fabricheck.transports.placement import Placement


def systems(placement: Placement) -> list[str]:
    """ReFrame's ``valid_systems`` of a benchmark on GPUs."""
    return [" ".join(f"+{each}" for each in ("gpu", *placement.features))]


def variables(setting: Setting, path: GpuPath) -> Mapping[str, str]:
    """Environment variables of every program of MPI on GPUs, beside those of its transport.

    On the staged path, whose transport knows of no GPU, UCX is to say so.

    Partition extra that is read: ``fake_gpu``.
    """
    fake = {"FABRICHECK_FAKE_GPU": "1"} if setting.extras.fake_gpu else {}
    return {**fake, **(PROTOCOL_TABLES if path is GpuPath.STAGED else {})}


def with_gpus(job: Job, setting: Setting) -> Job:
    """The job with the GPUs of its nodes.

    Partition extra that is read: ``gpus_per_node``.
    """
    count, option = setting.extras.gpus_per_node, launcher_of(setting.launcher).of_job_gpus
    if count is None or not option:
        return job
    return replace(job, options=[*job.options, option.format(count)])


def examine(found: Evidence, setting: Setting) -> Evidence:
    """The evidence, with what speaks against the devices that the program names.

    OSU's programs name none. Partition extras that are read: ``gpu_arch`` and ``fake_gpu``.
    """
    if found.curve is None or found.curve.program == "osu":
        return found
    objections = (*_device_objections(found.curve, setting), *found.objections)
    return replace(found, objections=objections)


def _device_objections(curve: Curve, setting: Setting) -> Sequence[str]:
    names, arch = curve.metadata.get("gpu", ""), setting.extras.gpu_arch
    if not names:
        return ["expected the names of the ranks' GPUs in the result, found none: it is no "
                "measurement on GPUs"]  # fmt: skip
    if is_fake(curve.program):
        if setting.extras.fake_gpu:
            return ()
        return [
            f"expected a GPU, found {FAKE_DEVICE!r}, the driver of the suite's own tests: remove "
            "it from LD_LIBRARY_PATH, or set extras.fake_gpu of the partition to see its values "
            "judged by nothing"
        ]
    found = sorted(set(curve.metadata.get("gpu_arch", "").split()))
    if arch is not None and found != [arch]:
        return [
            f"expected GPUs of architecture {arch} (extras.gpu_arch of the partition), found "
            f"{', '.join(found) or 'none named'}: the job ran on other nodes, or the site file is "
            "wrong"
        ]
    return ()
