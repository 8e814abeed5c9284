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
