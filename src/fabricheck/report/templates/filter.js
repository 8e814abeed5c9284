// Hides what lacks the words, and what no case of the level is in.
const [words, level] = ["filter-words", "filter-level"].map((id) => document.getElementById(id));
const matches = (each) => each.textContent.toLowerCase().includes(words.value.toLowerCase())
  && (!level.value || [...each.querySelectorAll(".badge, .level")]
    .some((badge) => badge.textContent.includes(level.value)));
const filter = () => {
  for (const each of document.querySelectorAll(".filtered > *")) each.hidden = !matches(each);
};
document.getElementById("filter").hidden = false;
document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
for (const field of [words, level]) field.addEventListener("input", filter);
// A link into what is folded unfolds it.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let each = target; each; each = each.parentElement) {
    if (each.tagName === "DETAILS") each.open = true;
  }
  target?.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();
