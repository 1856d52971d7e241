// What the page does beyond links and forms: keys, a note that something changed, and copying an id. All of it works without.
"use strict";

const root = document.documentElement;
const base = root.dataset.base;

function find(selector) {
  return Array.from(document.querySelectorAll(selector));
}

// -- keys -------------------------------------------------------------------------------------------------------------

const items = find("[data-item]");

function isTyping(target) {
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

function opener(item) {
  return item.querySelector("a, summary, button") || item;
}

function move(step) {
  const here = items.findIndex((item) => item.contains(document.activeElement));
  const next = items[Math.max(0, Math.min(items.length - 1, here < 0 && step < 0 ? 0 : here + step))];
  if (next) {
    (next.tabIndex === -1 && next.hasAttribute("tabindex") ? next : opener(next)).focus();
    next.scrollIntoView({ block: "nearest" });
  }
}

const actions = {
  "/": () => document.getElementById("find").focus(),
  j: () => move(1),
  k: () => move(-1),
  "?": () => { location.href = base + "help"; },
};

function act(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target)) return;
  if (event.key === "Enter" && event.target.matches("[data-item]")) {
    opener(event.target).click();
  } else if (Object.hasOwn(actions, event.key)) {
    event.preventDefault();
    actions[event.key]();
  }
}

if (root.dataset.keys === "on") document.addEventListener("keydown", act);

// -- news -------------------------------------------------------------------------------------------------------------

const news = document.getElementById("news");
let changes = 0;

function tell() {
  changes += 1;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Reload";
  button.addEventListener("click", () => location.reload());
  news.replaceChildren(changes === 1 ? "1 change since this page was made " : changes + " changes since this page was made ", button);
}

function listen() {
  const stream = new EventSource(base + "events");
  ["memory/changed", "memory/candidate_created", "memory/forgotten", "memory/erased", "memory/invalidated"]
    .forEach((name) => stream.addEventListener(name, tell));
  stream.addEventListener("bye", () => stream.close());
  addEventListener("pagehide", () => stream.close());
}

if (base && news) listen();

// -- copying ----------------------------------------------------------------------------------------------------------

find("[data-copy]").forEach((place) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "link";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(place.textContent);
    button.textContent = "Copied";
  });
  place.after(" ", button);
});
