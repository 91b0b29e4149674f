// The review page in a real Chromium: what a user sees and does, with the bytes on disk checked.
import { test, after, afterEach, beforeEach } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromiumWith, Scene, axe, closeBrowser, hunk, openPage, quiet, waitFor, waitStates } from "./harness.mjs";
import { example, LINES } from "./project.mjs";

const SHOTS = process.env.RECTO_E2E_SHOTS;
let scene;
beforeEach(() => { scene = new Scene(); });
afterEach(() => scene.end());
after(closeBrowser);

async function shot(page, name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, name + ".png") });
}
/** Opens the file that both sessions of the example changed, in the first of them. */
async function openServer(page) {
  await page.locator(".s .tw").nth(1).click();
  const rows = page.locator('.f[data-f="src%2Fserver.rs"]');
  await rows.nth(1).click();
  await page.locator("#main .h").nth(3).waitFor();
}
async function accessible(page, what) {
  // In another world, so that the page's own policy stays in force.
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  const run = `${axe}; axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] })`;
  const answer = await session.send("Runtime.evaluate", { expression: run, contextId: executionContextId, awaitPromise: true, returnByValue: true });
  const { violations } = answer.result.value;
  const serious = violations.filter((it) => ["serious", "critical", "moderate"].includes(it.impact));
  const report = serious.map((it) => `${what}: ${it.id}: ${it.nodes.map((node) => node.html.slice(0, 200)).join("\n")}`);
  assert.deepEqual(report, []);
}

test("a change by a running client appears by itself", async () => {
  scene.write("f.txt", LINES);
  const page = await openPage(await scene.review());
  await page.getByText("No changes are recorded").waitFor();
  const client = await scene.client();
  await client.edit("f.txt", "line 3\n", "three\n");
  await hunk(page, 0).getByText("three").waitFor();
  await page.locator(".f").getByText("f.txt").waitFor();
  await client.edit("f.txt", "line 20\n", "twenty\n");
  await hunk(page, 1).getByText("twenty").waitFor();
  await client.create("new.txt", "new\n");
  await page.locator(".f").getByText("new.txt").waitFor();
  await page.locator(".tw .live").waitFor();
  await client.end();
  await page.locator(".tw").getByText("ended").waitFor();
  quiet(page);
});

/** Edits two lines of two files, and opens the page. */
async function editedFiles() {
  scene.write("f.txt", LINES);
  scene.write("g.txt", LINES);
  const client = await scene.client();
  for (const name of ["f.txt", "g.txt"]) {
    await client.edit(name, "line 3\n", "three\n");
    await client.edit(name, "line 20\n", "twenty\n");
  }
  const changed = scene.read("f.txt");
  const page = await openPage(await scene.review());
  await waitStates(page, ["open", "open"]);
  return { changed, page };
}

test("a hunk, a file and a session are kept, undone and redone", async () => {
  const { changed, page } = await editedFiles();
  const press = (index, name) => hunk(page, index).getByRole("button", { name }).click();
  await press(0, "Keep");
  await waitStates(page, ["kept", "open"]);
  assert.equal(scene.read("f.txt"), changed);
  await press(0, "Reopen");
  await waitStates(page, ["open", "open"]);
  await press(1, "Undo");
  await waitStates(page, ["open", "undone"]);
  assert.equal(scene.read("f.txt"), changed.replace("twenty", "line 20"));
  await press(1, "Undo the undo");
  await waitStates(page, ["open", "open"]);
  assert.equal(scene.read("f.txt"), changed);

  const file = (name) => page.locator(".fh").getByRole("button", { name, exact: false }).click();
  await file("Undo file");
  await waitStates(page, ["undone", "undone"]);
  assert.equal(scene.read("f.txt"), LINES);
  assert.equal(scene.read("g.txt"), changed);
  await file("Undo the undo");
  await waitStates(page, ["open", "open"]);
  assert.equal(scene.read("f.txt"), changed);

  await press(0, "Keep");
  await waitStates(page, ["kept", "open"]);
  await page.getByRole("button", { name: "Undo all" }).click();
  await page.getByRole("button", { name: "Undo everything that is open" }).click();
  await waitStates(page, ["kept", "undone"]);
  await waitFor(() => scene.read("g.txt") === LINES);
  assert.equal(scene.read("f.txt"), changed.replace("twenty", "line 20"));
  await page.getByRole("button", { name: "Redo all" }).click();
  await page.getByRole("button", { name: "Undo all undos" }).click();
  await waitStates(page, ["kept", "open"]);
  await waitFor(() => scene.read("g.txt") === changed);
  assert.equal(scene.read("f.txt"), changed);
  await page.getByRole("button", { name: "Undo all" }).click();
  await page.getByRole("button", { name: "Also undo what is kept" }).click();
  await waitStates(page, ["undone", "undone"]);
  await waitFor(() => scene.read("g.txt") === LINES);
  assert.equal(scene.read("f.txt"), LINES);
  await page.getByRole("button", { name: "Redo all" }).click();
  await page.getByRole("button", { name: "Undo all undos" }).click();
  await waitStates(page, ["kept", "open"]);
  await file("Keep file");
  await waitStates(page, ["kept", "kept"]);
  quiet(page);
});

test("undo keeps what the user changed meanwhile", async () => {
  scene.write("f.txt", LINES);
  const client = await scene.client();
  await client.edit("f.txt", "line 3\n", "three\n");
  await client.end();
  const page = await openPage(await scene.review());
  await waitStates(page, ["open"]);
  writeFileSync(scene.path("f.txt"), "mine\n" + scene.read("f.txt"));
  await page.keyboard.press("u");
  await waitFor(() => scene.read("f.txt") === "mine\n" + LINES);
  quiet(page);
});

test("a conflict shows both texts and who wrote them", async () => {
  scene.write("f.txt", LINES);
  const first = await scene.client("first-client", "1.0");
  await first.edit("f.txt", "line 3\n", "by the first\n");
  const page = await openPage(await scene.review());
  await waitStates(page, ["open"]);
  const second = await scene.client("second-client", "2.0");
  await second.edit("f.txt", "by the first\n", "by the second\n");
  const card = page.locator("#main .h.conflict");
  for (const text of ["by the first", "by the second", "second-client"]) {
    await card.getByText(text).first().waitFor();
  }
  await card.getByRole("button", { name: "Undo" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("by the second").first().waitFor();
  await shot(page, "conflict");
  await accessible(page, "conflict");
  await dialog.getByRole("button", { name: "Keep" }).click();
  await card.getByRole("button", { name: "Reopen" }).waitFor();
  assert.ok(scene.read("f.txt").includes("by the second"));
  await card.getByRole("button", { name: "Undo" }).click();
  await dialog.getByRole("button", { name: "Undo both" }).click();
  await waitFor(() => scene.read("f.txt") === LINES);
  quiet(page);
});

test("two pages stay consistent", async () => {
  scene.write("f.txt", LINES);
  const client = await scene.client();
  await client.edit("f.txt", "line 3\n", "three\n");
  await client.edit("f.txt", "line 20\n", "twenty\n");
  const address = await scene.review();
  const [one, other] = [await openPage(address), await openPage(address)];
  await waitStates(one, ["open", "open"]);
  await waitStates(other, ["open", "open"]);
  await hunk(one, 0).getByRole("button", { name: "Undo" }).click();
  await waitStates(other, ["undone", "open"]);
  await hunk(other, 1).getByRole("button", { name: "Keep" }).click();
  await waitStates(one, ["undone", "kept"]);
  await hunk(other, 0).getByRole("button", { name: "Undo the undo" }).click();
  await waitStates(one, ["open", "kept"]);
  quiet(one);
  quiet(other);
});

test("everything works with the keyboard alone", async () => {
  const { changed, page } = await editedFiles();
  const key = (name) => page.keyboard.press(name);
  await key("j");
  await key("a");
  await waitStates(page, ["open", "kept"]);
  await key("k");
  await key("u");
  await waitStates(page, ["undone", "kept"]);
  assert.equal(scene.read("f.txt"), changed.replace("three", "line 3"));
  await key("z");
  await waitStates(page, ["open", "kept"]);
  assert.equal(scene.read("f.txt"), changed);
  await key("J");
  await page.locator(".fh").getByText("g.txt").waitFor();
  await key("U");
  await waitStates(page, ["undone", "undone"]);
  assert.equal(scene.read("g.txt"), LINES);
  await key("Z");
  await waitStates(page, ["open", "open"]);
  await key("A");
  await waitStates(page, ["kept", "kept"]);
  await key("K");
  await page.locator(".fh").getByText("f.txt").waitFor();
  await key("c");
  await page.locator("#main .change").first().waitFor();
  await key("c");
  await key("s");
  await page.locator("#main .d.split").first().waitFor();
  await key("s");
  await page.waitForFunction(() => !document.querySelector("#main .d.split"));
  await key("e");
  await page.waitForFunction(() => !document.querySelector("#main button.gap"));
  await key("?");
  await page.getByRole("dialog").getByText("next, previous hunk").waitFor();
  await key("Escape");
  await key("/");
  await page.keyboard.type("g.tx");
  await page.waitForFunction(() => document.querySelectorAll("#nav .f").length === 1);
  await key("Escape");
  await page.waitForFunction(() => document.querySelectorAll("#nav .f").length === 2);
  // The session by Tab and Enter.
  for (let n = 0; n < 40; n++) {
    const label = await page.evaluate(() => document.activeElement.textContent);
    if (label === "Undo all") break;
    await key("Tab");
  }
  await key("Enter");
  await page.getByRole("dialog").waitFor();
  await key("Enter");
  await waitFor(() => scene.read("f.txt") === changed.replace("three", "line 3"));
  quiet(page);
});

test("search, filters and addresses of hunks", async () => {
  await example(scene);
  const address = await scene.review();
  const page = await openPage(address);
  await page.locator("#main .h").first().waitFor();
  const files = () => page.locator("#nav .f").evaluateAll((all) => all.map((it) => it.dataset.f));
  await page.fill("#q", "thread::spawn");
  await waitFor(async () => (await files()).join() === "src%2Fserver.rs");
  await page.locator("#nav .f").click();
  await page.waitForFunction(() => CSS.highlights.get("found")?.size > 0);
  await page.fill("#q", "");
  await page.selectOption("#state", "kept");
  await page.getByText("No file matches.").waitFor();
  await page.selectOption("#state", "");
  await waitFor(async () => (await files()).length > 1);
  await page.keyboard.press("Escape");
  await page.locator("#main").click();
  await page.keyboard.press("j");
  const link = await page.evaluate(() => location.hash);
  assert.match(link, /^#\/s\/.+\/f\/src%2Fserver.rs\/h\/\d+\.\d+$/);
  // The same tab has the token, also in a frame of its history.
  await page.goto("about:blank");
  await page.goto(address.split("#")[0] + link);
  await page.waitForFunction((id) => document.querySelector(".h.sel")?.dataset.ids.includes(id), link.split("/h/")[1]);
  // Another tab has not, and shows nothing.
  const other = await openPage(address.split("#")[0] + link);
  await other.getByText("no valid token").waitFor();
  assert.equal(await other.locator(".h, .f").count(), 0);
  quiet(page);
});

test("sizes, colours and accessibility", async () => {
  await example(scene);
  const address = await scene.review();
  for (const [width, height] of [[360, 740], [1280, 800], [3840, 2160]]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await openPage(address, { viewport: { width, height }, colorScheme });
      if (width < 700) await page.click("#menu");
      await openServer(page);
      const overflow = await page.evaluate(() => [document.documentElement.scrollWidth - innerWidth, document.querySelector("#main").scrollWidth - document.querySelector("#main").clientWidth]);
      assert.deepEqual(overflow.map((it) => it > 0), [false, false], `${width} px: ${overflow}`);
      await shot(page, `${width}-${colorScheme}`);
      await accessible(page, `${width} ${colorScheme}`);
      if (width >= 700) {
        await page.keyboard.press("a");
        await page.waitForFunction(() => document.querySelector("#main .h.kept"));
        await page.keyboard.press("j");
        await page.keyboard.press("u");
        await page.waitForFunction(() => document.querySelector("#main .h.undone"));
        await accessible(page, `${width} ${colorScheme}, decided`);
        await shot(page, `${width}-${colorScheme}-decided`);
        await page.keyboard.press("z");
        await page.waitForFunction(() => !document.querySelector("#main .h.undone"));
        await page.keyboard.press("k");
        await page.keyboard.press("a");
        await page.waitForFunction(() => !document.querySelector("#main .h.kept"));
        await page.keyboard.press("s");
        await page.locator("#main .d.split").first().waitFor();
        await accessible(page, `${width} ${colorScheme}, side by side`);
      }
      quiet(page);
      await page.context().close();
    }
  }
});

test("another origin cannot read, change, embed or rebind", async () => {
  scene.write("f.txt", LINES);
  const client = await scene.client();
  await client.edit("f.txt", "line 3\n", "three\n");
  const address = await scene.review();
  const own = new URL(address), token = own.hash.slice(3);
  const requests = [];
  // A development server on another port of this machine.
  const server = createServer((request, response) => {
    requests.push(request);
    response.setHeader("content-type", "text/html");
    response.end("<title>other</title>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const page = await openPage(address);
    await waitStates(page, ["open"]);
    assert.equal(await page.evaluate(() => document.cookie), "");
    assert.ok(!(await page.evaluate(() => location.href)).includes(token));
    const attacker = await page.context().newPage();
    await attacker.goto(`http://127.0.0.1:${server.address().port}/`);
    assert.ok(!JSON.stringify(requests.map((it) => it.headers)).includes(token));
    const base = own.origin;
    const tried = await attacker.evaluate(async ([base, token]) => {
      const attempt = async (path, options) => {
        try { const answer = await fetch(base + path, options); return `${answer.type} ${answer.status}`; } catch (error) { return "failed"; }
      };
      const authorization = { Authorization: "Bearer " + token };
      const load = (tag, url) => new Promise((resolve) => {
        const element = document.createElement(tag);
        element.onload = () => resolve("loaded");
        element.onerror = () => resolve("failed");
        element[tag === "link" ? "href" : "src"] = url;
        if (tag === "link") element.rel = "stylesheet";
        document.head.append(element);
      });
      return {
        read: await attempt("/api/nav", { headers: authorization }),
        events: await attempt("/api/events", { headers: authorization }),
        blind: await attempt("/api/act", { method: "POST", mode: "no-cors", body: "{}" }),
        post: await attempt("/api/act", { method: "POST", headers: authorization, body: "{}" }),
        script: await load("script", base + "/script.js"),
        style: await load("link", base + "/style.css"),
        image: await load("img", base + "/icon.svg"),
        session: sessionStorage.length,
      };
    }, [base, token]);
    assert.deepEqual(tried, { read: "failed", events: "failed", blind: "failed", post: "failed", script: "failed", style: "failed", image: "failed", session: 0 });
    // Framing.
    await attacker.evaluate((base) => { const frame = document.createElement("iframe"); frame.src = base + "/"; document.body.append(frame); }, base);
    await attacker.waitForTimeout(300);
    const frame = attacker.frames().find((it) => it !== attacker.mainFrame());
    assert.equal(await frame.locator("#main").count().catch(() => 0), 0);
    // A window that the attacker opens has no token and cannot be scripted.
    const opened = await attacker.evaluate(async (base) => {
      const other = window.open(base + "/");
      await new Promise((resolve) => setTimeout(resolve, 500));
      try { return String(other?.document?.title ?? "closed"); } catch (error) { return "denied"; }
    }, base);
    assert.ok(["denied", "closed", ""].includes(opened), opened);
    // DNS rebinding: another name that leads to the same address.
    const rebound = await chromiumWith([`--host-resolver-rules=MAP rebound.example 127.0.0.1`]);
    const evil = await rebound.newPage();
    const answer = await evil.goto(`http://rebound.example:${own.port}/#t=${token}`);
    assert.equal(answer.status(), 421);
    await rebound.close();
    assert.equal(scene.read("f.txt"), LINES.replace("line 3\n", "three\n"));
    quiet(page);
  } finally { server.close(); }
});

test("hostile names and contents are shown and not run", async () => {
  const name = "<img src=x onerror=alert(1)>\u202etxt.js";
  const text = "</code><script>alert(1)</script>\n<svg onload=alert(1)>\n<style>*{display:none}</style>\n\u202e\u2066 reversed \u2069\nzero\u200bwidth\n\u001b[31m\n";
  const client = await scene.client("<b>client</b>", "\u202e1");
  await client.create(name, text);
  await client.create("page.svg", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>\n');
  const page = await openPage(await scene.review());
  let dialogs = 0;
  page.on("dialog", (dialog) => { dialogs++; dialog.dismiss(); });
  await hunk(page, 0).waitFor();
  await page.locator(".f").first().click();
  await page.getByText("U+202E").first().waitFor();
  await shot(page, "hostile");
  const found = await page.evaluate(() => ({
    elements: document.querySelectorAll("#main script, #main img, #main svg, #main style, #nav img, #nav b b").length,
    controls: /[\u202a-\u202e\u2066-\u2069\u200b\u001b]/.test(document.body.innerText),
    text: document.querySelector("#main").innerText.includes("<script>alert(1)</script>"),
  }));
  assert.deepEqual(found, { elements: 0, controls: false, text: true });
  assert.equal(dialogs, 0);
  quiet(page);
});

test("an exported session is a file without script", async () => {
  await example(scene);
  const file = join(scene.dir, "export.html");
  scene.run("review", "--export", file);
  const page = await openPage("file://" + file);
  await page.locator(".h").first().waitFor();
  const found = await page.evaluate(() => ({
    scripts: document.scripts.length,
    background: getComputedStyle(document.querySelector(".add")).backgroundColor,
  }));
  assert.equal(found.scripts, 0);
  assert.notEqual(found.background, "rgba(0, 0, 0, 0)");
  await accessible(page, "export");
  await shot(page, "export");
  quiet(page);
});

test("the picture of the README", { skip: !SHOTS }, async () => {
  await example(scene);
  const page = await openPage(await scene.review(), { viewport: { width: 1140, height: 740 } });
  await openServer(page);
  await page.keyboard.press("a");
  await page.waitForFunction(() => document.querySelector("#main .h.kept"));
  await page.keyboard.press("j");
  await page.keyboard.press("u");
  await page.waitForFunction(() => document.querySelector("#main .h.undone"));
  await page.keyboard.press("k");
  await page.waitForFunction(() => !document.querySelector("#toast.on"));
  await shot(page, "readme");
});
