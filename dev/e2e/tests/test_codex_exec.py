"""Codex alone, with `recto serve` as its MCP server."""

import json
import unittest

from harness.model import ScriptedModel
from harness.programs import BIN, RECTO, World
from test_clients import LONG, assert_whole
from test_codex_command import LATEST_MODEL

CONFIG = """\
[mcp_servers.recto]
command = {command}
args = ["serve"]
omit_tools_from = ["deferred"]
"""
STALE = "File changed since it was read"
DENIED = "Permission denied: "
EDIT = ("edit_text_file", {"path": "$/a.txt", "old_string": "beta", "new_string": "gamma"})


def play(turns, sandbox="workspace-write", text="alpha\nbeta\n", name="scripted"):
    """Runs the turns in a project with one file; returns the model and the file afterwards."""
    config = CONFIG.format(command=json.dumps(RECTO))
    with ScriptedModel([]) as model, World(model, {"a.txt": text}, config) as world:
        world.choose_model(name)
        model.turns = world.turns(turns)
        codex = [BIN / "codex", "exec", "--skip-git-repo-check", "--json", "--sandbox", sandbox, "go"]
        done = world.run(codex)
        assert done.returncode == 0, done.stdout + done.stderr
        return model, world.text("a.txt")


class CodexExec(unittest.TestCase):
    def test_a_full_answer_arrives_whole_if_codex_knows_the_model(self):
        model, _ = play([("read_text_file", {"path": "$/a.txt"})], text=LONG, name=LATEST_MODEL)
        assert_whole(self, model.output(0), 32_768)

    def test_a_full_answer_is_shortened_but_not_dropped_for_other_models(self):
        model, _ = play([("read_text_file", {"path": "$/a.txt"})], text=LONG)
        output = model.output(0)
        self.assertRegex(output, r"lines 1-\d+ of 20000, next line \d+, hash [0-9a-f]{12}")
        self.assertIn(LONG[:1000], output)
        self.assertGreater(len(output), 8_000)

    def test_reads_and_edits(self):
        model, text = play([("read_text_file", {"path": "$/a.txt"}), EDIT])
        self.assertIn("alpha\nbeta\n", model.output(0))
        self.assertIn("-beta\n+gamma\n", model.output(1))
        self.assertEqual(text, "alpha\ngamma\n")

    def test_refuses_a_stale_edit(self):
        replace = {"path": "a.txt", "hash": "{first_hash}", "lines": [1, 2], "old": "alpha", "new": "A"}
        model, text = play([("text_read", {"path": "a.txt"}), EDIT, ("text_replace", replace)])
        self.assertIn(STALE, model.output(2))
        self.assertEqual(text, "alpha\ngamma\n")

    def test_a_read_only_session_cannot_write(self):
        changes = [
            EDIT,
            ("multi_edit_text_file", {"path": "$/a.txt", "edits": [{"old_string": "beta", "new_string": "x"}]}),
            ("text_append", {"path": "a.txt", "hash": "{hash}", "content": "more\n"}),
            ("file_create", {"path": "b.txt", "content": "new\n"}),
        ]
        model, text = play([("text_read", {"path": "a.txt"}), *changes], sandbox="read-only")
        self.assertIn("beta", model.output(0))
        for turn_idx, (tool, _) in enumerate(changes, start=1):
            with self.subTest(tool):
                self.assertIn(DENIED, model.output(turn_idx))
        self.assertEqual(text, "alpha\nbeta\n")
