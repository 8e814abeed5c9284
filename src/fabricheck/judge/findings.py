"""Findings for people: neighbouring sizes with the same fault become one sentence."""

from collections.abc import Iterable, Sequence

from fabricheck.judge.judgement import Judgement
from fabricheck.judge.levels import Level
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import point_label, size_ranges
from fabricheck.units import amount, times

Series = dict[int, Judgement]


def group(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """One sentence for each series and level that is not good, worst level first."""
    series: dict[Variable, Series] = {}
    sentences = []
    for each in judgements:
        if (size := each.variable.size) is not None:
            series.setdefault(each.variable.series, {})[size] = each
        elif each.level is not Level.GOOD:
            sentences.append((each.level, each.message))
    unreferenced: dict[str, list[str]] = {}
    for name, by_size in series.items():
        for level, note in sorted({(j.level, j.note) for j in by_size.values()}):
            chosen = {s: j for s, j in by_size.items() if (j.level, j.note) == (level, note)}
            if level is Level.NO_REFERENCE:
                where = _where(name, list(chosen), list(by_size))
                unreferenced.setdefault(where, []).append(str(name))
            elif level is not Level.GOOD:
                sentences.append((level, _sentence(name, level, chosen, list(by_size))))
    sentences += [
        (Level.NO_REFERENCE, f"no reference for {', '.join(names)} {where}: nothing judges them")
        for where, names in unreferenced.items()
    ]
    sentences.sort(key=lambda pair: -pair[0].severity)
    return tuple(sentence for _, sentence in sentences)


def missing_variables(variables: Iterable[Variable]) -> tuple[str, ...]:
    """One sentence for each series of variables that have a reference and were not measured."""
    series: dict[Variable, list[int]] = {}
    sentences = []
    for variable in variables:
        if variable.size is None:
            sentences.append(f"{variable} has a reference but was not measured")
        else:
            series.setdefault(variable.series, []).append(variable.size)
    for name, sizes in series.items():
        ordered = sorted(sizes)
        sentences.append(
            f"{name} has references but was not measured {_where(name, ordered, ordered)}: the "
            "sweep is shorter than the references, or the statistic was not asked for"
        )
    return tuple(sentences)


def _sentence(name: Variable, level: Level, chosen: Series, every: Sequence[int]) -> str:
    if len(chosen) == 1:
        return next(iter(chosen.values())).message
    note = next(iter(chosen.values())).note
    head = f"{name} {level} {_where(name, list(chosen), every)}"
    size, extreme = max(chosen.items(), key=lambda item: _distance(item[1]))
    return f"{head}, worst {_worst(name, size, extreme)}" + (f"; {note}" if note else "")


def _worst(name: Variable, size: int, judgement: Judgement) -> str:
    label, found = point_label(name.metric, size), amount(judgement.value, judgement.unit)
    reference = judgement.reference
    if reference is None or not reference.value:
        return f"{found} at {label}, {judgement.limit}"
    ratio = times(judgement.value / reference.value)
    return f"{ratio} the reference at {label} ({found}, {judgement.limit})"


def _distance(judgement: Judgement) -> float:
    """How far a value is from its reference, the same for half of it and for twice of it."""
    reference = judgement.reference
    if reference is None or not reference.value:
        return abs(judgement.value)
    ratio = judgement.value / reference.value
    return max(ratio, 1 / ratio) if ratio else float("inf")


def _where(name: Variable, chosen: Sequence[int], every: Sequence[int]) -> str:
    if len(chosen) == 1:
        return f"at {point_label(name.metric, chosen[0])}"
    return f"at {len(chosen)} sizes {size_ranges(name.metric, chosen, every)}"
