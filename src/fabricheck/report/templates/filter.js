// Hides what lacks the words, and what no case of the level is in.
const [words, level] = ["filter-words", "filter-level"].map((id) => document.getElementById(id));
// A badge is a sign and a level; that of several cases says of how many it is the worst.
const levelOf = (badge) => badge.textContent.trim().replace(/^\S+\s+/, "").split(",")[0];
const textOf = (each) => `${each.textContent} ${each.dataset.nodes ?? ""}`.toLowerCase();
const matches = (each) => textOf(each).includes(words.value.toLowerCase())
  && (!level.value
    || [...each.querySelectorAll(".badge, .level")].some((badge) => levelOf(badge) === level.value));
const filter = () => {
  for (const each of document.querySelectorAll(".filtered > *")) each.hidden = !matches(each);
};
document.getElementById("filter").hidden = false;
document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
words.addEventListener("input", filter);
level.addEventListener("change", filter);
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
