"use strict";
// The token comes with the address once, stays in this tab, and is sent only as Authorization.
const $ = (id) => document.getElementById(id);
const policy = window.trustedTypes
  ? trustedTypes.createPolicy("recto", { createHTML: (html) => html })
  : { createHTML: (html) => html };
// The server escapes everything that comes from files; nothing else is inserted as HTML.
const put = (element, html) => { element.innerHTML = policy.createHTML(html); localTimes(element); };
const ROW = 28, PAGE = 40, MARGIN = 300;
const state = { session: "", file: "", hunk: "", view: "", split: false, q: "", filter: "", undos: [] };

function takeToken() {
  const given = location.hash.match(/^#t=([0-9a-f]{20,})$/);
  if (!given) return false;
  sessionStorage.setItem("token", given[1]);
  history.replaceState(null, "", location.pathname);
  return true;
}
function start() {
  takeToken();
  state.view = sessionStorage.getItem("view") || "";
  state.split = sessionStorage.getItem("split") === "1";
  readHash();
  press();
  if (!sessionStorage.getItem("token")) return askToken();
  refresh();
  listen();
}

async function api(path, body) {
  const headers = { Authorization: "Bearer " + sessionStorage.getItem("token") };
  const options = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const answer = await fetch("/api/" + path, options);
  if (answer.status === 401) askToken();
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer;
}
const html = async (path) => (await api(path)).text();
const query = (values) => Object.entries(values).filter(([, value]) => value !== "")
  .map(([name, value]) => name + "=" + value).join("&");
const encode = encodeURIComponent;

// Events: the server says that something changed, and the page loads it.
async function listen() {
  for (let wait = 250; ; wait = Math.min(wait * 2, 5000)) {
    try {
      const answer = await api("events");
      live(true, "Live");
      wait = 250;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const events = value.match(/data: \d+/g);
        if (events && events.pop().slice(6) !== version) refresh();
      }
    } catch (error) {
      if (!sessionStorage.getItem("token")) return;
    }
    live(false, "Not connected: is recto review still running?");
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
function live(isOn, text) {
  $("live").className = isOn ? "on" : "";
  $("live").textContent = text;
}

// One refresh at a time; requests in between become one more.
let running = false, again = false, version = "";
async function refresh() {
  if (running) { again = true; return; }
  running = true;
  try {
    do {
      again = false;
      await loadNav(true);
      await loadFile();
    } while (again);
  } catch (error) { toast(error.message); }
  running = false;
}

// The list of sessions and files. Only the files in sight are in the page.
let opened = new Set(), isFirst = true;
async function loadNav(isWhole) {
  const filter = query({ q: encode(state.q), state: state.filter });
  const answer = await api("nav?" + filter), text = await answer.text();
  // Without the file, the next event is still news.
  if (isWhole) version = answer.headers.get("x-version");
  const at = focusInNav();
  const before = new Map([...$("nav").querySelectorAll(".s")].map((it) => [it.dataset.s, it.blocks]));
  put($("nav"), text);
  const sessions = [...$("nav").querySelectorAll(".s")];
  if (isFirst && sessions.length) {
    if (!opened.size) opened.add(sessions[0].dataset.s);
    isFirst = false;
  }
  for (const section of sessions) {
    const isOpen = opened.has(section.dataset.s) || state.q !== "";
    section.classList.toggle("on", isOpen);
    section.querySelector(".tw").setAttribute("aria-expanded", isOpen);
    const files = section.querySelector(".files");
    files.style.height = isOpen ? section.dataset.n * ROW + "px" : 0;
    // The old rows stay until the new ones are here.
    section.blocks = (isOpen && before.get(section.dataset.s)) || new Map();
    files.append(...section.blocks.values());
  }
  restoreFocus(at);
  if (!state.file && sessions.length && matchMedia("(min-width: 761px)").matches) {
    openFile(sessions[0].dataset.s, sessions[0].dataset.first, true);
  }
  await fill(true);
  restoreFocus(at);
  mark();
}
async function fill(isNew) {
  const box = $("nav"), top = box.scrollTop - MARGIN, bottom = box.scrollTop + box.clientHeight + MARGIN;
  const loads = [];
  for (const section of box.querySelectorAll(".s.on")) {
    const files = section.querySelector(".files"), n = +section.dataset.n;
    const from = Math.max(0, Math.floor((top - files.offsetTop) / ROW));
    const to = Math.min(n, Math.ceil((bottom - files.offsetTop) / ROW));
    for (const [block, element] of section.blocks) {
      if (to <= block * PAGE || from >= (block + 1) * PAGE) { element.remove(); section.blocks.delete(block); }
    }
    for (let block = Math.floor(from / PAGE); block * PAGE < to; block++) {
      if (isNew || !section.blocks.has(block)) loads.push(fillBlock(section, files, block));
    }
  }
  await Promise.all(loads);
}
async function fillBlock(section, files, block) {
  const element = section.blocks.get(block) || document.createElement("div");
  element.style.transform = `translateY(${block * PAGE * ROW}px)`;
  section.blocks.set(block, element);
  files.append(element);
  const values = { s: encode(section.dataset.s), from: block * PAGE, q: encode(state.q), state: state.filter };
  const text = await html("files?" + query(values)), at = focusInNav();
  put(element, text);
  restoreFocus(at);
  mark();
}
let filling = 0;
function scrolled() {
  cancelAnimationFrame(filling);
  filling = requestAnimationFrame(() => fill(false).catch((error) => toast(error.message)));
}
function mark() {
  for (const row of $("nav").querySelectorAll(".f")) {
    const isIt = row.dataset.f === state.file && row.closest(".s").dataset.s === state.session;
    if (isIt) row.setAttribute("aria-current", "true"); else row.removeAttribute("aria-current");
  }
}
// The row or button of the list that has the focus, and gets it back if its element was replaced.
function focusInNav() {
  const element = document.activeElement && document.activeElement.closest("#nav .f, #nav button");
  return element && { s: element.closest(".s").dataset.s, f: element.dataset.f, act: element.dataset.act };
}
function restoreFocus(at) {
  if (!at || document.activeElement !== document.body) return;
  const inside = at.f ? `.f[data-f="${CSS.escape(at.f)}"]` : at.act ? `[data-act="${at.act}"]` : ".tw";
  const element = $("nav").querySelector(`.s[data-s="${CSS.escape(at.s)}"] ${inside}`);
  if (element) element.focus({ preventScroll: true });
}

// One file.
let shown = "", shownQuery = "", loadNumber = 0;
async function loadFile() {
  if (!state.file) {
    const text = $("nav").querySelector(".s") ? "Choose a file." : "Nothing to review yet.";
    return put($("main"), `<p class="note">${text}</p>`);
  }
  const number = ++loadNumber, main = $("main");
  const wanted = fileQuery(), isSame = wanted === shownQuery;
  // As many as were loaded before.
  const n = isSame ? main.querySelectorAll(state.view ? ".change" : ".h:not(.conflict)").length : 0;
  const text = await html("file?" + wanted + (n > 40 ? "&n=" + n : ""));
  if (number !== loadNumber) return;
  if (isSame && text === shown) return;
  const last = selected(), keep = isSame && { top: main.scrollTop, index: hunks().indexOf(last), ids: idsOf(last) };
  [shown, shownQuery] = [text, wanted];
  const hadFocus = document.activeElement !== main && main.contains(document.activeElement);
  put(main, text);
  document.title = decodeURIComponent(state.file).split("/").pop() + " · recto review";
  const all = hunks();
  if (all.length && !performance.getEntriesByName("recto-first-file").length) requestAnimationFrame(() => performance.mark("recto-first-file"));
  if (keep) {
    main.scrollTop = keep.top;
    // The same hunk, which others may have been added before; only if it is gone, the one in its place.
    const ids = shares(keep.ids, acted) ? [...keep.ids, ...acted] : keep.ids;
    const same = all.find((it) => shares(idsOf(it), ids));
    select(same || all[Math.min(keep.index, all.length - 1)], false);
  } else {
    main.scrollTop = 0;
    const linked = state.hunk && all.find((it) => idsOf(it).includes(state.hunk));
    select(linked || all.find((it) => it.matches(".open, .conflict")) || all[0], Boolean(linked));
  }
  if (hadFocus && document.activeElement === document.body) (selected() || main).focus({ preventScroll: true });
  more();
  highlight();
}
const fileQuery = () => query({ s: encode(state.session), f: state.file, view: state.view, split: state.split ? 1 : "" });
const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) loadMore(target);
}, { rootMargin: "1200px" });
function more() {
  watcher.disconnect();
  const target = $("main").querySelector(".more");
  if (target) watcher.observe(target);
}
async function loadMore(target) {
  watcher.disconnect();
  const number = loadNumber;
  const text = await html("file?" + fileQuery() + "&from=" + target.dataset.from).catch(() => "");
  if (number !== loadNumber || !target.isConnected) return;
  const box = document.createElement("template");
  put(box, text);
  target.replaceWith(box.content);
  localTimes($("main"));
  more();
  highlight();
}
function openFile(session, file, isQuiet) {
  Object.assign(state, { session, file, hunk: "" });
  opened.add(session);
  $("side").classList.remove("on");
  $("menu").setAttribute("aria-expanded", "false");
  writeHash(isQuiet);
  mark();
  loadFile().catch((error) => toast(error.message));
}
async function gap(button) {
  const { a, b, d } = button.dataset;
  const text = await html("lines?" + fileQuery() + "&" + query({ a, b, d }));
  const box = document.createElement("div");
  put(box, text);
  const lines = box.firstElementChild;
  button.replaceWith(lines || "");
}

// Hunks.
const hunks = () => [...$("main").querySelectorAll(".h")];
const selected = () => $("main").querySelector(".h.sel");
const idsOf = (hunk) => hunk ? hunk.dataset.ids.split(",") : [];
const shares = (some, others) => some.some((id) => others.includes(id));
function select(hunk, isScrolled = true) {
  const last = selected();
  if (last) last.classList.remove("sel");
  if (!hunk) return;
  hunk.classList.add("sel");
  state.hunk = idsOf(hunk)[0];
  writeHash(true);
  if (isScrolled) {
    hunk.scrollIntoView({ block: "nearest" });
    hunk.focus({ preventScroll: true });
  }
}
function move(step) {
  const all = hunks(), at = all.indexOf(selected());
  const next = all[at + step];
  if (next) select(next); else moveFile(step);
}
async function moveFile(step) {
  try {
    const values = { s: encode(state.session), f: state.file, step, q: encode(state.q), state: state.filter };
    const next = await (await api("next?" + query(values))).json();
    if (!next) return toast(step > 0 ? "This is the last file." : "This is the first file.");
    const isOpened = opened.has(next.s);
    openFile(next.s, next.f);
    if (!isOpened) await loadNav();
    const box = $("nav"), section = box.querySelector(`.s[data-s="${CSS.escape(next.s)}"]`);
    const top = section.querySelector(".files").offsetTop + next.n * ROW;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
  } catch (error) { toast(error.message); }
}

// Actions.
// All ids of the hunk that was acted on last: an undo gives it others.
let acted = [];
const did = { keep: "Kept", reopen: "Reopened", undo: "Undone", redo: "Redone" };
async function act(body) {
  try {
    const done = await (await api("act", { s: state.session, ...body })).json();
    if (body.ids) acted = [...(shares(body.ids, acted) ? acted : []), ...body.ids, ...(done.undos || [])];
    if (body.act === "undo" && done.undos && done.undos.length) state.undos.push(done.undos);
    if (body.act === "redo" && done.hunks) {
      const rest = state.undos.map((ids) => ids.filter((id) => !done.hunks.includes(id)));
      state.undos = rest.filter((ids) => ids.length);
    }
    if (done.conflict) return conflict(body, done);
    if (!done.n_hunks) return toast("There is nothing to " + body.act + ".");
    const files = done.n_files > 1 ? ` in ${done.n_files} files` : "";
    toast(`${did[body.act]}: ${done.n_hunks} hunk${done.n_hunks === 1 ? "" : "s"}${files}.` + (body.act === "undo" ? " Press z to undo the undo." : ""));
  } catch (error) { toast(error.message); }
  await refresh();
}
function conflict(body, done) {
  const retry = (more) => () => act({ ...body, ...more });
  const choices = [["Undo both", retry({ with_dependents: true })]];
  if (done.rest) choices.push(["Undo the rest", retry({ partial: true })]);
  if (body.ids) choices.push(["Keep", () => act({ act: "keep", ids: body.ids })]);
  ask(`${done.n_conflicts} conflict${done.n_conflicts === 1 ? "" : "s"}: nothing was changed there`, done.conflict, choices);
}
function actOn(name, hunk) {
  if (!hunk) return;
  const status = ["open", "kept", "undone", "conflict"].find((it) => hunk.classList.contains(it));
  if (!status) return toast("This change is not by this session, so it is not offered for undo.");
  if (name === "keep" && status === "kept") name = "reopen";
  if (status === "undone" ? name !== "redo" : name === "redo") return toast(`This hunk is ${status}.`);
  act({ act: name, f: state.file, ids: idsOf(hunk) });
}
function redo() {
  const hunk = selected();
  if (hunk && hunk.classList.contains("undone")) return actOn("redo", hunk);
  const ids = state.undos.pop();
  if (ids) act({ act: "redo", ids }); else toast("No undo in this page to undo.");
}
function actOnFile(name) { if (state.file) act({ act: name, f: state.file }); }
function actOnSession(name, session) {
  const label = { keep: "Keep", undo: "Undo", redo: "Undo the undo of" }[name];
  const choices = [[label + " everything that is open", () => act({ act: name, s: session })]];
  if (name === "undo") choices.push(["Also undo what is kept", () => act({ act: name, s: session, with_kept: true })]);
  if (name === "redo") choices[0][0] = "Undo all undos";
  ask(`${label} the whole session?`, '<p class="note">Other sessions and changes by other programs stay as they are. An undo can be undone.</p>', choices);
}

// Dialogs and messages.
function ask(title, body, choices) {
  const dialog = $("ask");
  $("ask-title").textContent = title;
  put($("ask-body"), body);
  $("ask-acts").replaceChildren(...[...choices, ["Cancel"]].map(([label, run]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.onclick = () => { dialog.close(); if (run) run(); };
    return button;
  }));
  if (!dialog.open) dialog.showModal();
  $("ask-acts").firstElementChild.focus();
}
function askToken() {
  sessionStorage.removeItem("token");
  live(false, "Not connected");
  put($("main"), '<p class="note">This tab has no valid token. Open the address that <code>recto review</code> prints, or the tab that it opened.</p>');
}
function help() {
  const keys = [["j, k", "next, previous hunk"], ["J, K", "next, previous file"], ["a, A", "keep the hunk, the file"], ["u, U", "undo the hunk, the file"], ["z, Z", "undo the undo: of the hunk or the last one, of the file"], ["e", "show all unchanged lines"], ["s", "side by side"], ["c", "change by change"], ["/", "search"], ["Esc", "leave the search"], ["?", "this list"]];
  ask("Keys", "<dl>" + keys.map(([key, text]) => `<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`).join("") + "</dl>", []);
}
let hiding = 0;
function toast(text) {
  $("toast").textContent = text;
  $("toast").className = "on";
  clearTimeout(hiding);
  hiding = setTimeout(() => { $("toast").className = ""; }, 5000);
}

// Addresses: #/s/SESSION/f/FILE/h/HUNK. They contain no token.
function readHash() {
  const found = location.hash.match(/^#\/s\/([^/]*)\/f\/([^/]*)(?:\/h\/([\d.]+))?/);
  if (!found) return false;
  Object.assign(state, { session: decodeURIComponent(found[1]), file: found[2], hunk: found[3] || "" });
  opened.add(state.session);
  return true;
}
function writeHash(isQuiet) {
  const hash = `#/s/${encode(state.session)}/f/${state.file}` + (state.hunk ? "/h/" + state.hunk : "");
  if (hash === location.hash) return;
  if (isQuiet) history.replaceState(null, "", hash); else history.pushState(null, "", hash);
}
function press() {
  $("view").setAttribute("aria-pressed", state.view === "changes");
  $("split").setAttribute("aria-pressed", state.split);
  sessionStorage.setItem("view", state.view);
  sessionStorage.setItem("split", state.split ? "1" : "");
}
function toggle(name) {
  if (name === "view") state.view = state.view ? "" : "changes"; else state.split = !state.split;
  press();
  loadFile().catch((error) => toast(error.message));
}
function localTimes(element) {
  for (const time of element.querySelectorAll("time[datetime], time[data-time]")) {
    const date = new Date(time.dataset.time ? +time.dataset.time : time.dateTime);
    const isToday = date.toDateString() === new Date().toDateString();
    time.textContent = isToday ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : date.toLocaleDateString([], { month: "short", day: "numeric" });
    time.title = date.toLocaleString();
  }
}
// Marks what was searched for, without changing the text.
function highlight() {
  if (!window.Highlight) return;
  const found = new Highlight(), wanted = state.q.toLowerCase();
  if (wanted) {
    const walker = document.createTreeWalker($("main"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode, text = node.data.toLowerCase();
      for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        found.add(range);
      }
    }
  }
  CSS.highlights.set("found", found);
}

// Input.
let searching = 0;
function search() {
  clearTimeout(searching);
  searching = setTimeout(() => {
    Object.assign(state, { q: $("q").value.trim(), filter: $("state").value });
    loadNav().then(highlight).catch((error) => toast(error.message));
  }, 120);
}
document.addEventListener("click", (event) => {
  const row = event.target.closest(".f"), button = event.target.closest("button"), hunk = event.target.closest(".h");
  if (row && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    return openFile(row.closest(".s").dataset.s, row.dataset.f);
  }
  if (hunk && hunk.closest("#main")) select(hunk, false);
  if (!button) return;
  const name = button.dataset.act;
  if (button.classList.contains("tw")) {
    const session = button.closest(".s").dataset.s;
    if (!opened.delete(session)) opened.add(session);
    loadNav().catch((error) => toast(error.message));
  } else if (button.classList.contains("gap")) gap(button).catch((error) => toast(error.message));
  else if (name && hunk) actOn(name, hunk);
  else if (name && button.closest(".s")) actOnSession(name, button.closest(".s").dataset.s);
  else if (name) actOnFile(name);
});
const keys = {
  j: () => move(1), k: () => move(-1), J: () => moveFile(1), K: () => moveFile(-1),
  a: () => actOn("keep", selected()), u: () => actOn("undo", selected()), z: redo,
  A: () => actOnFile("keep"), U: () => actOnFile("undo"), Z: () => actOnFile("redo"),
  e: () => $("main").querySelectorAll("button.gap").forEach((it) => gap(it).catch(() => {})),
  s: () => toggle("split"), c: () => toggle("view"), "?": help,
  "/": () => { $("side").classList.add("on"); $("q").focus(); $("q").select(); },
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.closest("#find")) { $("q").value = ""; search(); $("main").focus(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || $("ask").open || event.target.matches("input, select")) return;
  if (!keys[event.key] || !sessionStorage.getItem("token")) return;
  event.preventDefault();
  keys[event.key]();
});
$("find").addEventListener("submit", (event) => event.preventDefault());
$("q").addEventListener("input", search);
$("state").addEventListener("change", search);
$("nav").addEventListener("scroll", scrolled, { passive: true });
$("view").onclick = () => toggle("view");
$("split").onclick = () => toggle("split");
$("keys").onclick = help;
$("menu").onclick = () => $("menu").setAttribute("aria-expanded", $("side").classList.toggle("on"));
window.addEventListener("popstate", () => { if (readHash()) { mark(); loadFile().catch((error) => toast(error.message)); } });
// The address that recto prints, in a tab that shows the page already.
window.addEventListener("hashchange", () => { if (takeToken()) location.reload(); });
window.addEventListener("resize", scrolled);
start();
