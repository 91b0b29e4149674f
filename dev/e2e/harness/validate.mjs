// Checks ACP messages, one per line on stdin, against the v1 schema that the SDK publishes.
// Prints {"checked": {method: count}, "invalid": [{message, errors}]}. Only methods in the schema
// count; unknown fields are errors in tool call updates.
// Usage: node validate.mjs NODE_MODULES < messages.jsonl

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const packages = process.argv[2];
const Ajv2020 = createRequire(join(packages, "/"))("ajv/dist/2020").default;
const schemaFile = join(packages, "@agentclientprotocol/sdk/schema/v1/schema.json");
const schema = JSON.parse(readFileSync(schemaFile, "utf8"));
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(schema, "acp");

const requests = {};
for (const [name, definition] of Object.entries(schema.$defs)) {
  if (definition["x-method"] && !name.endsWith("Response")) requests[definition["x-method"]] = name;
}
const TOLD = { tool_call: "ToolCall", tool_call_update: "ToolCallUpdate" };

function errorsOf({ method, params }) {
  const check = ajv.getSchema(`acp#/$defs/${requests[method]}`);
  const errors = check(params) ? [] : check.errors.map((e) => `${e.instancePath} ${e.message}`);
  const update = params?.update;
  if (TOLD[update?.sessionUpdate]) {
    const known = { sessionUpdate: 1, ...schema.$defs[TOLD[update.sessionUpdate]].properties };
    errors.push(...Object.keys(update).filter((key) => !known[key]).map((key) => `unknown field ${key}`));
  }
  return errors;
}

const checked = {};
const invalid = [];
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const message = JSON.parse(line);
  if (!requests[message.method]) continue;
  checked[message.method] = (checked[message.method] ?? 0) + 1;
  const errors = errorsOf(message);
  if (errors.length) invalid.push({ message, errors });
}
console.log(JSON.stringify({ checked, invalid }));
