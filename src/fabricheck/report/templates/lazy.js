// First what is seen, then the rest that is not folded while nothing else is to do, so that printing has it.
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
