#!/usr/bin/env node
// Runs the program in the package of this platform.
"use strict";

const { spawn } = require("node:child_process");

const name = `recto-mcp-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/recto`);
} catch {
  console.error(
    `recto: the package ${name} is not installed. Either there is none for this platform, or npm ` +
      "left out optional dependencies.",
  );
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`recto: cannot start ${program}: ${error.message}`);
  process.exit(2);
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
