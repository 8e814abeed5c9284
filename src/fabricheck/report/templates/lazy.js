// First what is seen, then, while nothing else is to do, the rest that is not folded, for printing.
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) draw(entry.target.id);
}, { rootMargin: "400px" });
document.querySelectorAll(".chart").forEach((chart) => seen.observe(chart));
const isFolded = (name) => document.getElementById(name).closest("details:not([open])");
const rest = async () => {
  const name = [...documents.keys()].find((each) => !isFolded(each));
  if (name === undefined) return;
  await draw(name);
  requestIdleCallback(rest);
};
requestIdleCallback(rest);
addEventListener("toggle", rest, true);
