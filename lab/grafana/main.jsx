// Draws a dashboard's JSON and what Prometheus answered with Grafana's own panels, and then each
// panel's last value at the edges of its colours. Both come from draw-dashboard.py as window.drawn.
import "uplot/dist/uPlot.min.css";
import React from "react";
import { createRoot } from "react-dom/client";
import {
  FieldType, createTheme, dateTime, getDisplayProcessor, toDataFrame,
} from "@grafana/data";
import { BigValue, GlobalStyles, PanelChrome, Table, ThemeContext, TimeSeries } from "@grafana/ui";

const { dashboard, answers, marks = [], start, end, edges } = window.drawn;
const theme = createTheme({ colors: { mode: "dark" } });
const COLUMN = 1440 / 24, ROW = 38, GAP = 8;

// The settings of a field: those of the panel, and the overrides that are for its query or name.
function settings(panel, letter, name) {
  const { defaults, overrides = [] } = panel.fieldConfig;
  const config = { ...defaults, displayName: name, custom: {
    drawStyle: "line", lineWidth: 1, fillOpacity: 0, showPoints: "auto", ...defaults.custom,
  } };
  for (const { matcher, properties } of overrides) {
    const fits = matcher.id === "byFrameRefID" ? matcher.options === letter : matcher.options === name;
    for (const { id, value } of fits ? properties : []) {
      if (id.startsWith("custom.")) config.custom[id.slice(7)] = value;
      else config[id] = value;
    }
  }
  const steps = (config.thresholds?.steps ?? []).map(step => ({ ...step, value: step.value ?? -Infinity }));
  config.thresholds = { mode: "absolute", steps };
  config.color = { mode: panel.type === "stat" ? "thresholds" : "palette-classic", ...config.color };
  return config;
}

const legend = (text, labels) =>
  text === "__auto" ? "" : text.replace(/{{(\w+)}}/g, (_, name) => labels[name] ?? "");

function frame(panel, letter, name, index, points) {
  const made = toDataFrame({ refId: letter, fields: [
    { name: "Time", type: FieldType.time, values: points.map(([time]) => time * 1000), config: {} },
    { name: "Value", type: FieldType.number, values: points.map(([, value]) => +value),
      config: settings(panel, letter, name) },
  ] });
  for (const field of made.fields) {
    field.display = getDisplayProcessor({ field, theme, timeZone: "utc" });
    field.state = { seriesIndex: index, displayName: name || undefined };
  }
  return made;
}

function frames(panel) {
  let index = 0;
  return panel.targets.flatMap(({ refId, legendFormat }) =>
    answers[panel.id][refId].map(({ metric, values }) =>
      frame(panel, refId, legend(legendFormat, metric), index++, values)));
}

function Value({ panel, width, height, points }) {
  const [, field] = frame(panel, "A", "", 0, points).fields;
  const value = points.length ? field.display(field.values.at(-1))
    : { text: panel.fieldConfig.defaults.noValue ?? "no data", numeric: NaN };
  return <BigValue width={width} height={height} value={value} theme={theme} colorMode="value"
    graphMode="area" justifyMode="auto" textMode="auto"
    sparkline={points.length > 1 ? { x: { ...field, values: points.map(p => p[0] * 1000) }, y: field } : undefined} />;
}

// A table as the transformation "organize" leaves it: the labels that it names, in their order.
function Rows({ panel, width, height }) {
  const { indexByName, renameByName } = panel.transformations[0].options;
  const names = Object.keys(indexByName).sort((a, b) => indexByName[a] - indexByName[b]);
  const found = Object.values(answers[panel.id]).flat();
  if (!found.length) return <div className="none">{panel.fieldConfig.defaults.noValue}</div>;
  const made = toDataFrame({ fields: names.map(name => ({
    name: renameByName[name] ?? name, config: { custom: panel.fieldConfig.defaults.custom },
    type: name === "Value" ? FieldType.number : FieldType.string,
    values: found.map(({ metric, value }) => name === "Value" ? +value[1] : metric[name] ?? ""),
  })) });
  for (const field of made.fields) field.display = getDisplayProcessor({ field, theme, timeZone: "utc" });
  return <Table data={made} width={width} height={height} />;
}

function Content({ panel, width, height }) {
  if (panel.type === "table") return <Rows panel={panel} width={width} height={height} />;
  const found = frames(panel);
  if (panel.type === "stat")
    return <Value panel={panel} width={width} height={height}
      points={found.length ? found[0].fields[0].values.map((time, at) => [time / 1000, found[0].fields[1].values[at]]) : []} />;
  if (!found.length) return <div className="none">{panel.fieldConfig.defaults.noValue}</div>;
  const range = { from: dateTime(start * 1000), to: dateTime(end * 1000) };
  return <TimeSeries width={width} height={height} frames={found} timeRange={{ ...range, raw: range }} timeZone="utc"
    legend={{ showLegend: true, displayMode: "list", placement: "bottom", calcs: [] }}>{mark}</TimeSeries>;
}

// What happened, as dashed lines with a foot, where Grafana draws them.
function mark(config) {
  config.addHook("draw", plot => {
    const { ctx, bbox } = plot;
    ctx.save();
    for (const { time, colour } of marks) {
      const x = plot.valToPos(time * 1000, "x", true);
      ctx.strokeStyle = ctx.fillStyle = theme.visualization.getColorByName(colour);
      ctx.lineWidth = 1;
      ctx.setLineDash([5, 5]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillRect(x - 3, bbox.top + bbox.height, 6, 4);
    }
    ctx.restore();
  });
  return null;
}

function Panel({ panel }) {
  const { x, y, w, h } = panel.gridPos;
  const style = { position: "absolute", left: x * COLUMN, top: y * ROW };
  if (panel.type === "row") return <h4 style={style}>{panel.title}</h4>;
  return <div style={style}>
    <PanelChrome title={panel.title} description={panel.description} width={w * COLUMN - GAP} height={h * ROW - GAP}>
      {(width, height) => <Content panel={panel} width={width} height={height} />}
    </PanelChrome>
  </div>;
}

// Every value of every panel at an edge, as the colour that Grafana gives it.
function Edge({ edge: { title, value }, at }) {
  const panel = { ...dashboard.panels.find(each => each.title === title), type: "stat" };
  const style = { position: "absolute", left: (at % 8) * 180, top: Math.floor(at / 8) * 130 };
  return <div style={style}>
    <PanelChrome title={`${title}: ${value ?? "absent"}`} width={172} height={122}>
      {(width, height) => <Value panel={panel} width={width} height={height} points={value === null ? [] : [[end, value]]} />}
    </PanelChrome>
  </div>;
}

window.colours = edges.map(({ title, value }) => {
  const panel = { ...dashboard.panels.find(each => each.title === title), type: "stat" };
  const [, field] = frame(panel, "A", "", 0, [[end, value ?? NaN]]).fields;
  return value === null ? "none" : field.display(value).color;
});
window.names = Object.fromEntries(["green", "yellow", "red", "blue"].map(name => [name, theme.visualization.getColorByName(name)]));
const bottom = Math.max(...dashboard.panels.map(({ gridPos: { y, h } }) => y + h)) * ROW;
createRoot(document.getElementById("root")).render(
  <ThemeContext.Provider value={theme}><GlobalStyles />
    <div style={{ position: "relative", height: window.drawn.show === "edges" ? Math.ceil(edges.length / 8) * 130 : bottom }} data-drawn>
      {window.drawn.show === "edges" ? edges.map((edge, at) => <Edge key={at} edge={edge} at={at} />)
        : dashboard.panels.map(panel => <Panel key={panel.id} panel={panel} />)}
    </div>
  </ThemeContext.Provider>);
