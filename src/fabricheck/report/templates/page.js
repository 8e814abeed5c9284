"use strict";
(() => {
  const documents = new Map(
    [...document.querySelectorAll("script[data-chart]")].map((script) => [script.dataset.chart, script]),
  );

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const paint = (plot) => {
    const [text, line] = [color("--text"), color("--line")];
    for (const axis of [...plot.left, ...plot.below]) {
      axis.setv({
        axis_label_text_color: text, major_label_text_color: text,
        axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: line,
      });
    }
    for (const legend of plot.above.filter((item) => item.type === "Legend")) {
      legend.setv({ label_text_color: text });
    }
    plot.setv({ outline_line_color: line });
  };

  const paintAll = () => Bokeh.documents.forEach((drawn) => drawn.roots().forEach(paint));

  const draw = async (name) => {
    const script = documents.get(name);
    if (!script) return;
    documents.delete(name);
    await Bokeh.embed.embed_item(JSON.parse(script.textContent));
    document.getElementById(name).dataset.drawn = "yes";
    paintAll();
  };

  // First what is seen, then the rest while nothing else is to do, so that printing has all charts.
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target.id);
  }, { rootMargin: "400px" });
  document.querySelectorAll(".chart").forEach((chart) => seen.observe(chart));
  const rest = async () => {
    const [name] = documents.keys();
    if (name === undefined) return;
    await draw(name);
    requestIdleCallback(rest);
  };
  requestIdleCallback(rest);

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintAll);
  matchMedia("print").addEventListener("change", paintAll);
})();
