const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%/()*+-;,=.?@^_`{|}~";
const digits = new Map([...alphabet].map((character, digit) => [character, digit]));
// Five characters are four bytes; of the last group those that are there.
const decoded = (text) => {
  const view = new DataView(new ArrayBuffer(4 * Math.ceil(text.length / 5)));
  for (let group = 0; 5 * group < text.length; group += 1) {
    let word = 0;
    for (let place = 0; place < 5; place += 1) {
      word = 85 * word + (digits.get(text[5 * group + place]) ?? 84);
    }
    view.setUint32(4 * group, word);
  }
  return new Uint8Array(view.buffer, 0, text.length - Math.ceil(text.length / 5));
};
const unpack = async (name) => {
  const bytes = decoded(document.querySelector(`script[data-pack="${name}"]`).textContent.trim());
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
};

const unpackJson = async (name) => JSON.parse(new TextDecoder().decode(await unpack(name)));

if (!("DecompressionStream" in window)) {
  document.getElementById("too-old").hidden = false;
  throw new Error("fabricheck: the charts need a browser with DecompressionStream");
}

// The library of the charts, which the page holds packed.
document.head.append(Object.assign(document.createElement("script"), {
  textContent: new TextDecoder().decode(await unpack("library")),
}));
const documents = new Map(Object.entries(await unpackJson("charts")));

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

// Draws a chart once; gives its figure the first time.
const draw = async (name) => {
  const item = documents.get(name);
  if (!item) return undefined;
  documents.delete(name);
  const [view] = await Bokeh.embed.embed_item(item);
  document.getElementById(name).dataset.drawn = "yes";
  paintAll();
  return view.model;
};

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintAll);
matchMedia("print").addEventListener("change", paintAll);
// On paper nothing can be unfolded.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll(".problems + details")) folded.open = true;
});
