"""Clients with a scripted model: each alone, with `recto serve` as its MCP server, and as an agent
behind `recto acp`."""

import re
import unittest

from harness import clients
from harness.editor import Editor
from harness.model import ScriptedModel, call_id
from harness.programs import RECTO, World
from harness.session import Session, read_log

TOOLS = [
    "read_text_file", "write_text_file", "edit_text_file", "multi_edit_text_file",
    "text_read", "text_replace", "text_insert", "text_append", "file_create", "file_remove",
    "ListFiles", "ReadLines", "ReadAsTable", "ListCommits", "ReadDiff",
]
TEXT = "alpha\nbeta\n"
EDITED = "alpha\ngamma\n"
NOT_FOUND = "String not found in file: absent"


def edit(old, new):
    return ("edit_text_file", {"path": "$/a.txt", "old_string": old, "new_string": new})


READ = ("read_text_file", {"path": "$/a.txt"})


class Cases:
    """What is tested of each client."""

    # Whether its permission requests contain the arguments, which the diff is made from.
    asks_with_arguments = True

    def world(self, calls, files):
        if not self.client.program.exists():
            self.skipTest("its package has no program for this platform")
        model = self.enterContext(ScriptedModel([]))
        world = self.enterContext(World(model, files))
        model.turns = world.turns(calls)
        return model, world, self.client(world)

    def alone(self, calls, files):
        """Runs the client with recto as its MCP server. Returns the model, whose `output` is what the
        client passed on of each result, and the world."""
        model, world, client = self.world(calls, files)
        more = client.configure([RECTO, "serve", "--root", str(world.project)])
        done = world.run(client.alone(), world.environment() | more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Done.", done.stdout)
        return model, world

    def test_alone(self):
        calls = [READ, edit("beta", "gamma"), edit("absent", "x")]
        model, world = self.alone(calls, {"a.txt": TEXT})
        names = [tool["name"] for tool in model.tools]
        for tool in TOOLS:
            self.assertTrue(any(name.endswith(tool) for name in names), (tool, names))
        # Model APIs reject other characters.
        self.assertEqual([name for name in names if not re.fullmatch(r"[a-zA-Z0-9_-]+", name)], [])
        self.assertRegex(model.output(0), r"alpha(\n|\\n)beta")
        self.assertRegex(model.output(1), r"-beta(\n|\\n)\+gamma")
        self.assertIn(NOT_FOUND, model.output(2))
        self.assertEqual(world.text("a.txt"), EDITED)

    def test_behind_the_relay(self):
        calls = [READ, edit("beta", "gamma"), edit("absent", "x"), edit("gamma", "delta")]
        declined = call_id(3, 0)
        model, world, client = self.world(calls, {"a.txt": TEXT})
        editor = Editor(world, declines=declined)
        log = world.base / "messages.jsonl"
        command = [RECTO, "acp", "--log-messages", log, "--", *client.agent()]
        seen = editor.prompt(command, world.environment() | client.configure(None))
        path = str(world.path("a.txt"))
        self.assertEqual(editor.buffers, {path: EDITED})

        def of_call(turn_idx, items):
            """Returns the items whose id is that of a call of the script."""
            return [item for id_, item in items if id_.endswith(call_id(turn_idx, 0))]

        cards = seen.cards()
        made = [card for card in cards.values() if "name" in card]
        self.assertEqual(len(made), len(cards), list(cards))
        kinds = [card["kind"] for card in made]
        # An agent need not report a declined call.
        self.assertIn(kinds, (["read", "edit", "edit", "edit"], ["read", "edit", "edit"]))
        for card in made:
            self.assertEqual(card["n_calls"], 1, card)
            self.assertIn("a.txt", card["title"])
        ends = [card["statuses"][-1] for card in made]
        self.assertEqual(ends, ["completed", "completed", "failed", "failed"][: len(ends)])
        self.assertEqual(diffs(made[1]), [(path, TEXT, EDITED)])
        self.assertIn(NOT_FOUND, str(made[2]["content"]))
        self.assertNotIn("delta", str(model.outputs.get(declined, "")))

        requests = seen.requests("session/request_permission")
        asked = [(params["toolCall"]["toolCallId"], params["toolCall"]) for params in requests]
        for turn_idx, texts in [(1, (TEXT, EDITED)), (3, (EDITED, "alpha\ndelta\n"))]:
            (call,) = of_call(turn_idx, asked)
            self.assertEqual(call["kind"], "edit")
            if self.asks_with_arguments:
                self.assertIn("a.txt", call["title"])
                self.assertEqual(diffs(call), [(path, *texts)])
        checked, invalid = Session([], read_log(log)).validity()
        self.assertEqual(invalid, [])
        self.assertIn("session/update", checked)


def diffs(call):
    blocks = [block for block in call.get("content", []) if block["type"] == "diff"]
    return [(block["path"], block.get("oldText"), block["newText"]) for block in blocks]


class Goose(Cases, unittest.TestCase):
    client = clients.Goose


class Qwen(Cases, unittest.TestCase):
    client = clients.Qwen


class Gemini(Cases, unittest.TestCase):
    client = clients.Gemini


class Opencode(Cases, unittest.TestCase):
    client = clients.Opencode
    asks_with_arguments = False


class Claude(Cases, unittest.TestCase):
    client = clients.Claude
