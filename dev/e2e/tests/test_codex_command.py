"""`recto codex`: the adapter that it starts, its settings for Codex, and use by current models."""

import json
import re
import unittest

from harness import acpx
from harness.model import ScriptedModel, call_id
from harness.programs import RECTO, World

# Records how it was started, then exits.
STUB = """\
#!/bin/sh
echo "$0 $*" > "$HOME/started"
printf '%s' "$CODEX_CONFIG" > "$HOME/config"
"""
LATEST_MODEL = "gpt-6.1-sol"


class Adapter(unittest.TestCase):
    def setUp(self):
        self.model = self.enterContext(ScriptedModel([]))
        self.world = self.enterContext(World(self.model))
        self.bin = self.world.base / "bin"
        self.bin.mkdir()

    def start(self, stubs=(), arguments=(), **environment):
        for name in stubs:
            stub = self.bin / name
            stub.write_text(STUB)
            stub.chmod(0o755)
        # No other directory, because it may contain a real npx.
        environment = self.world.environment() | environment | {"PATH": str(self.bin)}
        return self.world.run([RECTO, "codex", *arguments], environment)

    def started(self):
        return (self.world.home / "started").read_text().strip()

    def config(self):
        return json.loads((self.world.home / "config").read_text())

    def test_starts_the_adapter_on_the_path(self):
        self.start(["codex-acp", "npx"])
        self.assertEqual(self.started(), str(self.bin / "codex-acp"))

    def test_falls_back_to_npx(self):
        self.start(["npx"])
        self.assertEqual(self.started(), f"{self.bin}/npx -y @agentclientprotocol/codex-acp@2.6.0")

    def test_a_command_overrides(self):
        self.start(["codex-acp", "mine"], ["--agent-command", f"{self.bin}/mine 'two words'"])
        self.assertEqual(self.started(), f"{self.bin}/mine two words")

    def test_says_what_is_missing(self):
        done = self.start()
        self.assertEqual(done.returncode, 2)
        self.assertIn("npm install -g @agentclientprotocol/codex-acp@2.6.0", done.stderr)
        self.assertIn("--agent-command", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_keeps_what_the_user_configured(self):
        own = {"developer_instructions": "Be brief.", "features": {"goals": False}, "model": "m"}
        self.start(["codex-acp"], CODEX_CONFIG=json.dumps(own))
        config = self.config()
        self.assertTrue(config["developer_instructions"].startswith("Be brief.\n\n"))
        self.assertIs(config["features"]["goals"], False)
        self.assertEqual(config["model"], "m")

    def test_refuses_a_broken_configuration(self):
        done = self.start(["codex-acp"], CODEX_CONFIG="{")
        self.assertEqual(done.returncode, 2)
        self.assertIn("CODEX_CONFIG", done.stderr)


class Codex(unittest.TestCase):
    """The real adapter and Codex, with the settings of a current model."""

    def play(self, calls, config="", model="scripted"):
        text = "".join(f"line {number} of a long file\n" for number in range(5000))
        self.enterContext(scripted := ScriptedModel([]))
        world = self.enterContext(World(scripted, {"a.txt": "alpha\n", "big.txt": text}, config))
        world.choose_model(model)
        scripted.turns = world.turns(calls)
        session, done = acpx.run(world, ["codex"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return scripted, session

    def test_current_models_are_shown_the_tools(self):
        model, session = self.play([("read_text_file", {"path": "$/a.txt"})], model=LATEST_MODEL)
        (namespace,) = [tool for tool in model.tools if tool.get("name") == "mcp__recto"]
        names = {tool["name"] for tool in namespace["tools"]}
        self.assertLessEqual({"read_text_file", "edit_text_file", "text_replace", "ReadLines"}, names)
        said = [part.get("text", "") for item in model.requests[0]["input"]
                if item.get("role") == "developer" for part in item.get("content", [])]
        self.assertTrue(any("recto" in text for text in said))
        self.assertIn("alpha", model.output(0))
        self.assertEqual(session.cards()[call_id(0, 0)]["n_calls"], 1)

    def test_a_page_is_never_cut_in_the_middle(self):
        for model_name in ("scripted", LATEST_MODEL):
            with self.subTest(model_name):
                model, _ = self.play([("read_text_file", {"path": "$/big.txt"})], model=model_name)
                output = model.output(0)
                self.assertGreater(len(output), 32_000)
                self.assertNotIn("truncated", output)
                position = r"^lines 1-(\d+) of 5000, next line \d+, hash [0-9a-f]{12}\n"
                (n_lines,) = re.findall(position, output, re.MULTILINE)
                self.assertEqual(output.splitlines()[-1], f"line {int(n_lines) - 1} of a long file")

    def test_a_server_of_the_same_name_gives_way(self):
        own = '[mcp_servers.recto]\ncommand = "/nowhere"\nargs = ["x"]\n'
        model, session = self.play([("read_text_file", {"path": "$/a.txt"})], own)
        self.assertIn("alpha", model.output(0))
        self.assertEqual(len(session.requests("fs/read_text_file")), 1)
