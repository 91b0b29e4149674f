// Figures of the review page with 10,000 changes: the time to the first paint of the first file, the
// time of the next hunk, and the server's memory. Usage: dev/e2e/review/run --figures [CHANGES]
import { readFileSync } from "node:fs";
import { Scene, closeBrowser, openPage } from "./harness.mjs";

const N_CHANGES = +(process.argv[2] ?? 10000), N_FILES = N_CHANGES / 10, N_CLIENTS = 4;
const scene = new Scene();
const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const memory = (name) => +readFileSync(`/proc/${scene.server.pid}/status`, "utf8").match(name + ":\\s+(\\d+) kB")[1] / 1024;
try {
  const lines = Array.from({ length: 200 }, (_, n) => `line ${n} of a file\n`).join("");
  for (let n = 0; n < N_FILES; n++) scene.write(`src/part${n % 20}/file${n}.txt`, lines);
  const clients = [];
  for (let n = 0; n < N_CLIENTS; n++) clients.push(await scene.client(`client-${n}`, "1.0", ["--durability", "rename"]));
  const begun = Date.now();
  await Promise.all(clients.map(async (client, index) => {
    for (let n = index; n < N_FILES; n += N_CLIENTS) {
      for (let k = 0; k < 10; k++) {
        await client.edit(`src/part${n % 20}/file${n}.txt`, `line ${k * 20} of a file\n`, `line ${k * 20} changed\n`);
      }
    }
    await client.end();
  }));
  console.log(`${N_CHANGES} changes of ${N_FILES} files by ${N_CLIENTS} clients in ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  const address = await scene.review();
  const paints = [], ready = [], hunks = [], files = [];
  for (let round = 0; round < 7; round++) {
    const page = await openPage(address);
    await page.locator("#main .h").first().waitFor();
    const found = await page.evaluate(() => ({
      paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
      content: performance.getEntriesByName("recto-first-file")[0].startTime,
    }));
    paints.push(found.paint);
    ready.push(found.content);
    const press = (key) => page.evaluate((key) => new Promise((resolve) => {
      const start = performance.now(), before = document.querySelector(".h.sel");
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      const check = () => (document.querySelector(".h.sel") !== before
        ? requestAnimationFrame(() => resolve(performance.now() - start)) : requestAnimationFrame(check));
      check();
    }), key);
    for (let n = 0; n < 5; n++) hunks.push(await press("j"));
    for (let n = 0; n < 3; n++) files.push(await press("J"));
    // The list is scrolled to its end and back, so that its window moves.
    for (const share of [0.3, 0.7, 1, 0]) {
      await page.evaluate((share) => { const nav = document.getElementById("nav"); nav.scrollTop = nav.scrollHeight * share; }, share);
      await page.waitForFunction(() => document.querySelector("#nav .f"));
    }
    const rows = await page.locator("#nav .f").count();
    if (rows > 400) throw new Error(`${rows} rows in the page`);
    await page.context().close();
  }
  const line = (what, numbers, limit) => console.log(`${what}: ${median(numbers).toFixed(0)} ms, at most ${Math.max(...numbers).toFixed(0)} ms (limit ${limit})`);
  line("first paint", paints, 300);
  line("first file with its hunks", ready, 300);
  line("next hunk", hunks, 50);
  line("next file", files, "–");
  console.log(`server memory: ${memory("VmRSS").toFixed(1)} MB, at most ${memory("VmHWM").toFixed(1)} MB (limit 96)`);
} finally {
  await closeBrowser();
  await scene.end();
}
