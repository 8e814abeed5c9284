// The reader chooses a case, a figure, a size and a night; the three charts and the table follow.
const [index, planes] = await Promise.all([unpackJson("explorer-index"), unpack("explorer-values")]);
const nightCount = index.times.length;
const cellCount = index.columns[0].length * nightCount;
const element = (name) => document.getElementById(`explorer-${name}`);

const valueAt = ({ middle, step }, steps) =>
  step === null ? middle * Math.exp(steps * index.logarithmic_step) : middle + steps * step;

const rows = index.columns[0].map((_, row) => index.columns.map((column) => column[row])).map(
  ([item, metric, statistic, size, unit, middle, step, levels, bounds, changes], number) => ({
    number, item, metric, statistic, size, unit, middle, step, bounds, changes,
    levels: levels.map(([first, last, level, low, high, accepted]) =>
      [first, last, ...[level, low, high].map((steps) => valueAt({ middle, step }, steps)), accepted]),
  }),
);
const groupBy = (items, key) => {
  const groups = new Map();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
};
const rowsOf = groupBy(rows, (row) => row.item);

const valueOf = (row, night) => {
  const place = row.number * nightCount + night;
  const zigzag = planes[cellCount + place] << 8 | planes[place];
  const steps = (zigzag >> 1) ^ -(zigzag & 1);
  return steps === index.missing ? NaN : valueAt(row, steps);
};

const significant = (value) => {
  if (!value) return String(value);
  const decimals = 2 - Math.floor(Math.log10(Math.abs(value) * 1.0005));
  return decimals > 5 ? value.toPrecision(2) : value.toFixed(Math.max(0, decimals));
};
const unitFor = (unit, value) => {
  const ladder = index.ladders[unit];
  if (!ladder) return [1, unit];
  return ladder.findLast(([factor]) => Math.abs(value) >= factor * 0.9995) ?? ladder[0];
};
const inWords = (value, unit) => {
  if (value === null || Number.isNaN(value)) return "no figure";
  const [factor, name] = unitFor(unit, value);
  return `${significant(value / factor)} ${name}`.trim();
};
const sizeWords = ({ size, metric }) => {
  if (size === null) return "no size";
  if (index.by_order.includes(metric)) return `N ${size}`;
  const steps = size ? Math.min(3, Math.floor(Math.log2(size) / 10)) : 0;
  const power = size % 1024 ** steps ? 0 : steps;
  return `${size / 1024 ** power} ${["B", "KiB", "MiB", "GiB"][power]}`;
};
const nightWords = (night) =>
  new Date(index.times[night] * 1000).toISOString().slice(0, 16).replace("T", " ");

const nightsOf = (row) => [...index.times.keys()].filter((night) => !Number.isNaN(valueOf(row, night)));

// The level that a night is held against: that before the last change, if nobody accepted it.
const levelFor = (row, night) => {
  const at = Math.max(0, row.levels.findLastIndex(([first]) => first <= night));
  const own = row.levels[at];
  return own[5] ? own : row.levels[Math.max(0, at - 1)];
};

const DAY = 86_400_000;

const logTicks = (low, high) => {
  const exponents = [];
  for (let n = Math.floor(Math.log10(low)); n <= Math.ceil(Math.log10(high)); n += 1) exponents.push(n);
  let found = [];
  for (const steps of [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]) {
    found = exponents.flatMap((n) => steps.map((step) => Number(`${step}e${n}`)))
      .filter((tick) => low <= tick && tick <= high);
    if (found.length >= 3) break;
  }
  return found;
};
const tickLog = (axis, range, unit, label) => {
  const ticks = logTicks(range.start, range.end);
  axis.ticker.ticks = ticks;
  axis.major_label_overrides = new Map(ticks.map((tick) => [tick, `${Number(tick.toPrecision(1))}`]));
  axis.axis_label = `${label} in ${unit}`;
};

const setRange = (range, values, { log = false, right = 0.03, room = 0.08, least = 0 } = {}) => {
  const drawn = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  const [low, high] = [Math.min(...drawn), Math.max(...drawn)];
  if (log) {
    range.setv({ start: low / 1.4, end: high * 1.4 });
    return;
  }
  const span = Math.max(high - low, least) || Math.abs(high) * 0.1 || 1;
  const spare = (span - high + low) / 2;
  range.setv({
    start: low - spare - room * span, end: high + spare + Math.max(room, right) * span,
  });
};

const plots = {};
const source = (plot, name) => plot.document.get_model_by_name(name);
const fill = (plot, name, data) => { source(plot, name).data = data; };
const label = (row) => [row.metric.replace("_", " "), row.statistic].filter(Boolean).join(" ");
const toneOf = { regression: "--red", noisier: "--yellow", changed: "--magenta", improvement: "--green" };

const fillTrend = (row, night, nights) => {
  const plot = plots.trend;
  const [factor, unit] = unitFor(row.unit, valueOf(row, night));
  const times = nights.map((each) => index.times[each] * 1000);
  const values = nights.map((each) => valueOf(row, each) / factor);
  const spans = row.levels.map(([first, last, ...figures]) => [
    index.times[Math.max(first, 0)] * 1000, index.times[last] * 1000,
    ...figures.slice(0, 3).map((figure) => figure / factor),
  ]);
  const figures = [...values, ...spans.flatMap((span) => span.slice(3))];
  const span = Math.max(...figures) - Math.min(...figures);
  const near = (row.bounds ?? []).slice(1, 3).filter((bound) => bound !== null)
    .map((bound) => bound / factor)
    .filter((bound) => bound > Math.min(...figures) - span && bound < Math.max(...figures) + span);
  setRange(plot.x_range, times, { room: 0.03, least: DAY });
  setRange(plot.y_range, [...figures, ...near]);
  fill(plot, "levels", {
    start: spans.map((each) => each[0]), end: spans.map((each) => each[1]),
    level: spans.map((each) => each[2]), low: spans.map((each) => each[3]),
    high: spans.map((each) => each[4]),
  });
  fill(plot, "bounds", { value: near });
  const changes = row.changes.filter(([place]) => place >= 0);
  fill(plot, "changes", {
    time: changes.map(([place]) => index.times[place] * 1000),
    color: changes.map(([, kind]) => color(toneOf[kind])),
  });
  fill(plot, "nights", {
    time: times, value: values,
    words: nights.map((each) => `${nightWords(each)}: ${inWords(valueOf(row, each), row.unit)}`),
  });
  fill(plot, "chosen", { x: [index.times[night] * 1000], y: [valueOf(row, night) / factor] });
  plot.left[0].axis_label = `${label(row)} in ${unit}`;
};

const fillCurve = (row, night) => {
  const plot = plots.curve;
  const alike = rowsOf.get(row.item).filter((each) => each.metric === row.metric
    && each.statistic === row.statistic && each.unit === row.unit && each.size);
  const measured = alike.filter((each) => valueOf(each, night) > 0);
  element("curve").hidden = measured.length < 2;
  if (measured.length < 2) return;
  const [factor, unit] = unitFor(row.unit, valueOf(row, night));
  const scaled = (value) => (value === null || value <= 0 ? NaN : value / factor);
  const values = measured.map((each) => scaled(valueOf(each, night)));
  const levels = alike.map((each) => levelFor(each, night).slice(2, 5).map(scaled));
  setRange(plot.x_range, alike.map((each) => each.size), { log: true });
  setRange(plot.y_range, [...values, ...levels.flat()], { log: true });
  const shown = (value) => (value >= plot.y_range.start / 20 && value <= plot.y_range.end * 20 ? value : NaN);
  const judged = alike.filter((each) => each.bounds);
  const bound = (place) => judged.map((each) => shown(scaled(each.bounds[place])));
  const bounds = { size: judged.map((each) => each.size), reference: bound(0), lower: bound(1), upper: bound(2) };
  setRange(plot.y_range, [
    ...values, ...levels.flat(), ...bounds.reference, ...bounds.lower, ...bounds.upper,
  ], { log: true });
  fill(plot, "curve-bounds", bounds);
  fill(plot, "typical", {
    size: alike.map((each) => each.size), level: levels.map((each) => each[0]),
    low: levels.map((each) => each[1]), high: levels.map((each) => each[2]),
  });
  fill(plot, "curve", {
    size: measured.map((each) => each.size), value: values,
    words: measured.map((each) => `${sizeWords(each)}: ${inWords(valueOf(each, night), each.unit)}, `
      + `level ${inWords(levelFor(each, night)[2], each.unit)}`),
  });
  fill(plot, "chosen", { x: [row.size ?? NaN], y: [scaled(valueOf(row, night))] });
  const sizes = alike.map((each) => each.size);
  const step = Math.max(1, Math.ceil(sizes.length / 6));
  const ticks = sizes.toReversed().filter((_, place) => place % step === 0);
  plot.below[0].axis_label = index.by_order.includes(row.metric) ? "order of the matrices" : "message size";
  plot.below[0].ticker.ticks = ticks;
  plot.below[0].major_label_overrides = new Map(ticks.map((size) => [size, sizeWords({ ...row, size })]));
  tickLog(plot.left[0], plot.y_range, unit, label(row));
};

const STYLES = { p50: ["#2f7fc1", "solid"], avg: ["#17967f", "dotted"], p99: ["#d4622a", "dashed"], max: ["#a33", "dotdash"] };
const OTHERS = ["#9166cc", "#c2477f", "#85801a"];

const fillStatistics = (row, night) => {
  const plot = plots.statistics;
  const alike = rowsOf.get(row.item).filter((each) => each.metric === row.metric
    && each.size === row.size && each.unit === row.unit);
  element("statistics").hidden = alike.length < 2;
  if (alike.length < 2) return;
  const [factor, unit] = unitFor(row.unit, valueOf(row, night));
  const looks = alike.map((each, place) => STYLES[each.statistic] ?? [OTHERS[place % 3], "dotdash"]);
  const nights = alike.map(nightsOf);
  const times = nights.map((list) => list.map((each) => index.times[each] * 1000));
  const values = nights.map((list, place) => list.map((each) => valueOf(alike[place], each) / factor));
  setRange(plot.x_range, times.flat(), { room: 0.03, right: 0.12, least: DAY });
  setRange(plot.y_range, values.flat(), { log: true });
  fill(plot, "statistics", {
    times, values, color: looks.map((look) => look[0]), dash: looks.map((look) => look[1]),
  });
  fill(plot, "statistic-names", {
    time: times.map((list) => list.at(-1)), value: values.map((list) => list.at(-1)),
    name: alike.map((each) => each.statistic), color: looks.map((look) => look[0]),
  });
  fill(plot, "chosen", { x: [index.times[night] * 1000], y: [valueOf(row, night) / factor] });
  tickLog(plot.left[0], plot.y_range, unit, row.metric.replace("_", " "));
};

const boundWords = ([reference, lower, upper], unit) => {
  const sides = [lower === null ? "" : `at least ${inWords(lower, unit)}`,
    upper === null ? "" : `at most ${inWords(upper, unit)}`].filter(Boolean).join(", ");
  return ` Reference ${reference === null ? "none" : inWords(reference, unit)}; allowed: ${sides || "anything"}.`;
};
const say = (row, night, nights) => {
  const [, , level, low, high] = levelFor(row, night);
  const value = valueOf(row, night);
  const size = row.size === null ? "" : ` at ${sizeWords(row)}`;
  const ratio = level > 0 ? ` (${value < level ? "" : "+"}${((value / level - 1) * 100).toFixed(1)} %)` : "";
  const words = `${label(row)}${size}, ${index.cases[row.item][1]}: ${inWords(value, row.unit)}${ratio} on `
    + `${nightWords(night)} UTC. Level to compare with: ${inWords(level, row.unit)}; nine of ten nights from `
    + `${inWords(low, row.unit)} to ${inWords(high, row.unit)}.${row.bounds ? boundWords(row.bounds, row.unit) : " No reference."}`;
  const changes = row.changes.map(([place, , , what]) =>
    ` ${place < 0 ? "Before these nights" : `Since ${nightWords(place)}`}: ${what}.`);
  element("words").textContent = words + changes.join("");
  element("trend-chart").setAttribute("aria-label", `Trend over ${nights.length} nights. ${words}`);
  element("curve-chart").setAttribute("aria-label", `Curve over sizes on ${nightWords(night)}.`);
  element("statistics-chart").setAttribute("aria-label", `Statistics over ${nights.length} nights${size}.`);
};

const tabulate = (row, nights) => {
  element("caption").textContent = `${label(row)}, ${index.cases[row.item][1]}`;
  element("values").replaceChildren(...nights.toReversed().map((night) => {
    const line = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = nightWords(night);
    const level = levelFor(row, night)[2];
    const value = valueOf(row, night);
    line.append(head, ...[inWords(value, row.unit), level > 0 ? `${((value / level - 1) * 100).toFixed(1)} %` : "·"]
      .map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return line;
  }));
};

let [chosenRow, chosenNight] = [rows[0], nightCount - 1];

const options = (select, entries, value) => {
  select.replaceChildren(...entries.map(([key, text]) => new Option(text, key, false, key === value)));
};
const unique = (values) => [...new Set(values)];

const show = (row, night) => {
  const nights = nightsOf(row);
  chosenRow = row;
  chosenNight = nights.findLast((each) => each <= night) ?? nights[0];
  const mates = rowsOf.get(row.item);
  element("case").value = row.item;
  options(element("figure"), unique(mates.map(label)).map((each) => [each, each]), label(row));
  const sizes = mates.filter((each) => label(each) === label(row));
  options(element("size"), sizes.map((each) => [String(each.number), sizeWords(each)]), String(row.number));
  Object.assign(element("night"), { max: nights.length - 1, value: nights.indexOf(chosenNight) });
  element("night").setAttribute("aria-valuetext", nightWords(chosenNight));
  element("date").textContent = `${nightWords(chosenNight)} UTC`;
  fillTrend(row, chosenNight, nights);
  fillCurve(row, chosenNight);
  fillStatistics(row, chosenNight);
  say(row, chosenNight, nights);
  tabulate(row, nights);
};

const nearest = (candidates) => candidates.find((row) => row.size === chosenRow.size) ?? candidates[0];

element("case").addEventListener("change", ({ target }) => {
  const mates = rowsOf.get(Number(target.value));
  const same = mates.filter((row) => label(row) === label(chosenRow));
  show(nearest(same.length ? same : mates), nightCount - 1);
});
element("figure").addEventListener("change", ({ target }) => {
  show(nearest(rowsOf.get(chosenRow.item).filter((row) => label(row) === target.value)), chosenNight);
});
element("size").addEventListener("change", ({ target }) => show(rows[Number(target.value)], chosenNight));
element("night").addEventListener("input", ({ target }) => {
  show(chosenRow, nightsOf(chosenRow)[Number(target.value)]);
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-row]");
  if (!link) return;
  show(rows[Number(link.dataset.row)], nightCount - 1);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(chosenRow, chosenNight));

for (const [benchmark, members] of groupBy([...index.cases.keys()], (n) => index.cases[n][0])) {
  const group = Object.assign(document.createElement("optgroup"), { label: benchmark });
  group.append(...members.map((number) => new Option(index.cases[number][1], number)));
  element("case").append(group);
}

element("live").hidden = false;
for (const name of ["trend", "curve", "statistics"]) plots[name] = await draw(`explorer-${name}-chart`);
source(plots.trend, "nights").selected.properties.indices.change.connect(() => {
  const [place] = source(plots.trend, "nights").selected.indices;
  if (place !== undefined) show(chosenRow, nightsOf(chosenRow)[place]);
});
show(rows[Number(element("live").dataset.row)], nightCount - 1);
element("live").dataset.ready = "yes";
