// What is wrong with this page for who can't see it, uses a keyboard, or has a small screen: a list of sentences.
const faults = [];
const say = (what, where) => faults.push(where ? `${what}: ${where.outerHTML.slice(0, 160)}` : what);
const all = (selector) => [...document.querySelectorAll(selector)];
const shown = (one) => one.getClientRects().length > 0 && getComputedStyle(one).visibility !== "hidden";

if (document.documentElement.lang !== "en") say("no language");
if (!document.title.trim()) say("no title");
if (all("main").length !== 1) say("not one main");
if (all("h1").length !== 1) say("not one h1");

let level = 0;
for (const heading of all("h1, h2, h3, h4, h5, h6").filter(shown)) {
  const own = Number(heading.tagName[1]);
  if (own > level + 1) say("a level of headings is skipped", heading);
  if (!heading.textContent.trim()) say("a heading says nothing", heading);
  level = own;
}

const ids = new Set();
for (const one of all("[id]")) {
  if (ids.has(one.id)) say("an id is there twice", one);
  ids.add(one.id);
}
for (const one of all("[aria-labelledby], label[for]")) {
  const names = (one.getAttribute("aria-labelledby") || one.getAttribute("for")).split(/\s+/);
  for (const name of names) if (!document.getElementById(name)) say("it names what is not there", one);
}

// Everything lies in a landmark.
for (const one of document.body.children) {
  const is = one.matches("header, main, footer, nav, script, .skip, [role=status], dialog");
  if (!is) say("outside of every landmark", one);
}
const navs = all("nav").filter(shown).map((one) => one.getAttribute("aria-label"));
if (navs.some((name) => !name) || new Set(navs).size !== navs.length) say(`navigations without names of their own: ${navs}`);

const named = (one) => {
  const by = one.getAttribute("aria-labelledby");
  const labels = [...(one.labels || [])].map((label) => label.textContent).join("");
  const own = one.matches("input, select, textarea") ? "" : one.textContent;
  return (one.getAttribute("aria-label") || (by && document.getElementById(by)?.textContent) || labels || own).trim();
};
for (const one of all("a[href], button, input, select, textarea, summary").filter(shown)) {
  if (!named(one)) say("a control without a name", one);
}
for (const one of all("button, select, input[type=search], textarea").filter(shown)) {
  const box = one.getBoundingClientRect();
  if (box.width < 24 || box.height < 24) say(`too small to hit (${box.width}x${box.height})`, one);
}
for (const one of all("[tabindex]")) if (one.tabIndex > 0) say("an order of its own", one);
for (const one of all("table")) {
  if (!one.caption || !one.caption.textContent.trim()) say("a table without a caption", one);
  for (const cell of one.querySelectorAll("th")) if (!cell.scope) say("a head without a scope", cell);
}
for (const one of all("fieldset")) if (!one.querySelector("legend")) say("a group without a legend", one);
for (const one of all("img")) if (!one.hasAttribute("alt")) say("a picture without words", one);
if (all("[style], script:not([src]), style").length) say("something is inline");
for (const one of all("*")) {
  if ([...one.attributes].some((attribute) => attribute.name.startsWith("on"))) say("an inline handler", one);
}

// Contrast of every text with what is behind it.
const parse = (color) => color.match(/[\d.]+/g).map(Number);
const luminance = ([r, g, b]) => {
  const part = (value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const behind = (one) => {
  for (let at = one; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color.length < 4 || color[3] === 1) return color;
    if (color[3] > 0) say("a background that is half there", at);
  }
  return [255, 255, 255];
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let texts = 0;
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const one = node.parentElement;
  if (!node.textContent.trim() || !shown(one) || one.matches("script, option, .skip") || one.closest(":disabled, .unseen, .said")) continue;
  texts += 1;
  const [front, back] = [luminance(parse(getComputedStyle(one).color)), luminance(behind(one))];
  const contrast = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
  if (contrast < 4.5) say(`a contrast of ${contrast.toFixed(2)}`, one);
}
if (texts < 1) say("hardly any text was looked at");

if (document.documentElement.scrollWidth > window.innerWidth) {
  say(`${document.documentElement.scrollWidth} wide in ${window.innerWidth}`);
  for (const one of all("body *").filter(shown)) {
    if (one.getBoundingClientRect().right > window.innerWidth + 1 && !one.closest(".skip, .unseen")) say("it sticks out", one);
  }
}
return faults.slice(0, 20);
