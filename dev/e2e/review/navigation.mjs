// What stays as it is in the review page while changes arrive: selection, focus, lists and addresses.
import { test, after, afterEach, beforeEach } from "node:test";
import assert from "node:assert/strict";
import { Scene, closeBrowser, openPage, quiet, waitStates } from "./harness.mjs";
import { LINES } from "./project.mjs";

let scene;
beforeEach(() => { scene = new Scene(); });
afterEach(() => scene.end());
after(closeBrowser);

test("a live change leaves the same hunk selected", async () => {
  scene.write("f.txt", LINES);
  const client = await scene.client();
  await client.edit("f.txt", "line 5\n", "five\n");
  await client.edit("f.txt", "line 20\n", "twenty\n");
  const page = await openPage(await scene.review());
  await waitStates(page, ["open", "open"]);
  await page.keyboard.press("j");
  const selected = page.locator("#main .h.sel");
  await selected.getByText("twenty").waitFor();
  await client.edit("f.txt", "line 12\n", "twelve\n");
  await waitStates(page, ["open", "open", "open"]);
  assert.match(await selected.innerText(), /twenty/);
  await page.keyboard.press("u");
  await waitStates(page, ["open", "open", "undone"]);
  await client.edit("f.txt", "line 1\n", "one\n");
  await waitStates(page, ["open", "open", "open", "undone"]);
  assert.match(await selected.innerText(), /twenty/);
  assert.match(scene.read("f.txt"), /one\n[^]*five\n[^]*twelve\n[^]*line 20\n/);
  quiet(page);
});

test("the next file is reached beyond the rows in sight", async () => {
  const client = await scene.client();
  const name = (n) => `${String(n).padStart(3, "0")}.txt`;
  for (let n = 0; n < 130; n++) await client.create(name(n), "new\n");
  await client.end();
  const page = await openPage(await scene.review());
  await page.locator(".fh").getByText(name(0)).waitFor();
  for (let n = 1; n <= 100; n++) {
    await page.keyboard.press("J");
    await page.locator(".fh").getByText(name(n)).waitFor();
  }
  await page.locator("#nav .f[aria-current]").waitFor();
  await page.locator("#nav").evaluate((nav) => { nav.scrollTop = 0; });
  await page.waitForFunction(() => !document.querySelector("#nav .f[aria-current]"));
  await page.keyboard.press("K");
  await page.locator(".fh").getByText(name(99)).waitFor();
  await page.locator("#nav .f[aria-current]").waitFor();
  quiet(page);
});

test("the focus stays on the row of the same session", async () => {
  scene.write("f.txt", LINES);
  const first = await scene.client("first-client", "1.0");
  await first.edit("f.txt", "line 3\n", "three\n");
  const second = await scene.client("second-client", "2.0");
  await second.edit("f.txt", "line 20\n", "twenty\n");
  const page = await openPage(await scene.review());
  await page.locator(".s .tw").nth(1).click();
  const focused = () => page.evaluate(() => document.activeElement.closest(".s")?.querySelector(".tw").innerText ?? "");
  await page.locator(".s .f").nth(1).focus();
  assert.match(await focused(), /first-client/);
  // The page loads the file after the list.
  const stays = async (client, old, text, expected) => {
    await client.edit("f.txt", old, text);
    await page.locator("#main").getByText(text.trim(), { exact: true }).waitFor();
    assert.match(await focused(), expected);
  };
  await stays(second, "line 28\n", "last\n", /first-client/);
  // The order of the sessions changes.
  await stays(first, "line 10\n", "tenth\n", /first-client/);
  assert.ok(await page.evaluate(() => document.activeElement.matches(".f")));
  await page.locator(".s .tw").nth(1).focus();
  await stays(second, "line 25\n", "fifth\n", /second-client/);
  quiet(page);
});

test("a session that was closed stays closed", async () => {
  scene.write("f.txt", LINES);
  const client = await scene.client();
  await client.edit("f.txt", "line 3\n", "three\n");
  const page = await openPage(await scene.review());
  await page.locator(".s.on .f").waitFor();
  await page.locator(".tw").click();
  await page.locator('.tw[aria-expanded="false"]').waitFor();
  await client.edit("f.txt", "line 20\n", "twenty\n");
  await page.locator(".tw").getByText("2 changes").waitFor();
  assert.equal(await page.locator(".s.on").count(), 0);
  quiet(page);
});

test("a tab without a token takes the printed address", async () => {
  scene.write("f.txt", LINES);
  const client = await scene.client();
  await client.edit("f.txt", "line 3\n", "three\n");
  const address = await scene.review();
  const page = await openPage(address.split("#")[0]);
  await page.getByText("no valid token").waitFor();
  await page.goto(address);
  await waitStates(page, ["open"]);
  assert.ok(!(await page.evaluate(() => location.href)).includes("t="));
  quiet(page);
});

test("a narrow page asks for a file", async () => {
  scene.write("f.txt", LINES);
  const client = await scene.client();
  await client.edit("f.txt", "line 3\n", "three\n");
  const page = await openPage(await scene.review(), { viewport: { width: 760, height: 740 } });
  await page.locator("#main").getByText("Choose a file").waitFor();
  await page.click("#menu");
  await page.locator(".f").click();
  await waitStates(page, ["open"]);
  quiet(page);
});

test("an undo is undone once", async () => {
  scene.write("f.txt", LINES);
  const client = await scene.client();
  await client.edit("f.txt", "line 3\n", "three\n");
  const address = await scene.review();
  const page = await openPage(address);
  await waitStates(page, ["open"]);
  await page.keyboard.press("u");
  await waitStates(page, ["undone"]);
  await page.keyboard.press("z");
  await waitStates(page, ["open"]);
  await page.keyboard.press("z");
  await page.getByText("No undo in this page to undo.").waitFor();
  // Nor again if another page has undone it.
  await page.keyboard.press("u");
  await waitStates(page, ["undone"]);
  const other = await openPage(address);
  await waitStates(other, ["undone"]);
  await other.keyboard.press("z");
  await waitStates(page, ["open"]);
  await page.keyboard.press("z");
  await page.getByText("There is nothing to redo.").waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
  quiet(page);
});
