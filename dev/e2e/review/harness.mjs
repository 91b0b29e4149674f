// Starts recto's servers and Chromium for the tests of the review page.
import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tmpdir } from "node:os";

const require = createRequire(join(process.env.RECTO_E2E_PACKAGES, "package.json"));
const { chromium } = require("playwright-core");
export const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const RECTO = process.env.RECTO;
// While the page is changed, its files can be taken from here instead of the program.
const ASSETS = process.env.RECTO_E2E_ASSETS;

/** A scratch directory with a project, and everything that runs in it. */
export class Scene {
  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), "recto-review-"));
    this.root = join(this.dir, "project");
    this.stateDir = join(this.dir, "state");
    mkdirSync(this.root);
    this.running = [];
  }

  path(name) { return join(this.root, name); }

  write(name, text) {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), text);
  }

  read(name) { return readFileSync(this.path(name), "utf8"); }
  exists(name) { return existsSync(this.path(name)); }

  run(...args) {
    const env = { ...process.env, RECTO_STATE_DIR: this.stateDir };
    return execFileSync(RECTO, args, { cwd: this.root, env, encoding: "utf8", maxBuffer: 1 << 28 });
  }

  /** Starts an MCP session of a client. */
  async client(name = "claude-code", version = "2.1.0", options = []) {
    const client = new Client(this, name, version, options);
    this.running.push(client.child);
    await client.initialize();
    return client;
  }

  /** Starts `recto review` and returns its address with the token. */
  async review(dir = this.root) {
    const args = ["review", "--no-open", "--state-dir", this.stateDir, dir];
    const child = spawn(RECTO, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.running.push(child);
    this.server = child;
    const lines = createInterface({ input: child.stdout });
    const line = await new Promise((resolve, reject) => {
      lines.once("line", resolve);
      child.once("exit", () => reject(new Error("recto review ended")));
    });
    return line.trim();
  }

  async end() {
    for (const child of this.running) {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.kill();
        await ended;
      }
    }
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** An MCP client on stdin and stdout. */
class Client {
  constructor(scene, name, version, options) {
    this.scene = scene;
    this.info = { name, version };
    const args = ["serve", scene.root, "--state-dir", scene.stateDir, ...options];
    this.child = spawn(RECTO, args, { stdio: ["pipe", "pipe", "ignore"] });
    this.waiting = new Map();
    this.last = 0;
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      this.waiting.get(message.id)?.(message);
    });
  }

  request(method, params) {
    const id = ++this.last;
    this.child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  async initialize() {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: this.info };
    await this.request("initialize", params);
    this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }

  async call(name, args) {
    const answer = await this.request("tools/call", { name, arguments: args });
    if (!answer.result || answer.result.isError) throw new Error(JSON.stringify(answer));
    return answer.result.structuredContent ?? answer.result.content;
  }

  edit(path, old_string, new_string) {
    return this.call("edit_text_file", { path: this.scene.path(path), old_string, new_string });
  }

  create(path, content) {
    return this.call("file_create", { path: this.scene.path(path), content });
  }

  /** Ends the session; everything is recorded then. */
  async end() {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.stdin.end();
    await ended;
  }
}

let browser;
export function chromiumWith(more = []) {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const args = process.getuid() === 0 ? ["--no-sandbox", ...more] : more;
  return chromium.launch({ executablePath, args });
}
async function openBrowser() { return browser ??= await chromiumWith(); }
export async function closeBrowser() { await browser?.close(); }

/** Opens an address in a new tab. The page may not log errors. */
export async function openPage(address, options = {}) {
  const context = await (await openBrowser()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  page.on("console", (message) => { if (message.type() === "error") page.errors.push(message.text()); });
  if (ASSETS) {
    for (const [url, file] of [["/", "page.html"], ["/script.js", "script.js"], ["/style.css", "style.css"]]) {
      await page.route((it) => it.pathname === url, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: readFileSync(join(ASSETS, file), "utf8") });
      });
    }
  }
  if (address) await page.goto(address);
  return page;
}

// What tests ask of a page.
export const hunk = (page, index) => page.locator("#main .h").nth(index);
export const waitStates = (page, expected) => page.waitForFunction((expected) => {
  const found = [...document.querySelectorAll("#main .h")].map((it) => it.classList[1]);
  return JSON.stringify(found) === JSON.stringify(expected);
}, expected);
export async function waitFor(check) {
  for (const end = Date.now() + 10000; Date.now() < end;) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail("waited for 10 s: " + check);
}
export const quiet = (page) => assert.deepEqual(page.errors, []);
