// The search box. Its index (search.js) is loaded at the first focus: no network, works from a file.
(() => {
  const box = document.querySelector("#search"), list = document.querySelector("#found"), root = box.dataset.root;
  const shown = 12;
  let index, chosen = -1;

  const load = () => {
    if (index !== undefined) return;
    index = null;
    const script = document.createElement("script");
    script.src = root + "search.js";
    script.onload = () => { index = window.stitchcudaSearch; show(); };
    document.head.append(script);
  };

  // Every word has to occur; a section's heading counts more than its text, a page's title most.
  const score = (section, words) => {
    let total = 0;
    for (const word of words) {
      const [title, heading, text] = section.low;
      const at = title.includes(word) ? 20 : heading.includes(word) ? 8 : text.includes(word) ? 1 : 0;
      if (!at) return 0;
      total += at + (new RegExp("(^|[^a-z0-9])" + word.replace(/[^a-z0-9]/g, "\\$&") + "($|[^a-z0-9])").test(heading + " " + text) ? 3 : 0);
    }
    return total;
  };

  const around = (text, word) => {
    const at = text.toLowerCase().indexOf(word), begin = Math.max(0, at - 50);
    return (begin ? "…" : "") + text.slice(begin, begin + 140) + (begin + 140 < text.length ? "…" : "");
  };

  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    list.hidden = !words.length || !index;
    chosen = -1;
    if (list.hidden) return;
    for (const section of index) section.low ??= [section.title, section.heading, section.text].map((one) => one.toLowerCase());
    const best = index.map((section) => [score(section, words), section]).filter(([points]) => points).sort((a, b) => b[0] - a[0]).slice(0, shown);
    for (const [, section] of best) {
      const link = document.createElement("a"), name = document.createElement("b"), text = document.createElement("span");
      link.href = root + section.at;
      name.textContent = section.heading && section.heading !== section.title ? `${section.title}: ${section.heading}` : section.title;
      text.textContent = around(section.text, words[0]);
      link.append(name, text);
      list.append(link);
    }
    if (!best.length) list.textContent = "Nothing found.";
  };

  const choose = (next) => {
    const links = [...list.querySelectorAll("a")];
    chosen = Math.min(Math.max(next, 0), links.length - 1);
    links.forEach((link, i) => link.classList.toggle("chosen", i === chosen));
    links[chosen]?.scrollIntoView({ block: "nearest" });
  };

  box.addEventListener("focus", load);
  box.addEventListener("input", () => { load(); show(); });
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Enter") (list.querySelector(".chosen") ?? list.querySelector("a"))?.click();
    else if (event.key === "Escape") { box.value = ""; show(); box.blur(); }
    else return;
    event.preventDefault();
  });
  const asked = new URLSearchParams(location.search).get("search");  // page.html?search=words
  if (asked) { box.value = asked; load(); }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || /input|textarea/i.test(event.target.tagName)) return;
    event.preventDefault();
    box.focus();
  });
})();
