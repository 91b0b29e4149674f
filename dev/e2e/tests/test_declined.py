"""A write that a user or an editor declines: nothing changes, and the model gets the reason."""

import unittest

from harness import acpx
from harness.editor import Editor
from harness.model import ScriptedModel, call_id
from harness.programs import BIN, RECTO, World

FILES = {"a.txt": "alpha\nbeta\n"}
EDIT = ("edit_text_file", {"path": "$/a.txt", "old_string": "beta", "new_string": "gamma"})
RELAY = ["acp", "--results", "text", "--", BIN / "codex-acp"]


class Declined(unittest.TestCase):
    def check(self, play):
        """`play` runs the edit; the disk is unchanged, and the answer is -32002 with a reason."""
        with ScriptedModel([]) as model, World(model, FILES) as world:
            model.turns = world.turns([EDIT])
            session = play(world)
            self.assertEqual(world.text("a.txt"), FILES["a.txt"])
            path = world.path("a.txt")
        output = model.output(0)
        self.assertIn(f"Permission denied: {path}\n\n", output)
        card = session.cards()[call_id(0, 0)]
        self.assertEqual(card["statuses"][-1], "failed")
        self.assertEqual(error_of(card)["code"], -32002)
        _, invalid = session.validity()
        self.assertEqual(invalid, [])
        return output, session

    def test_acpx_denies_all(self):
        output, session = self.check(lambda world: acpx.run(world, RELAY, "--deny-all")[0])
        # Even the read before the edit is declined; acpx puts the reason into the error's data.
        self.assertIn("Permission denied for fs/read_text_file", output)
        self.assertEqual(session.requests("fs/write_text_file"), [])

    def test_acpx_denies_the_write(self):
        output, session = self.check(lambda world: acpx.run(world, RELAY, "--approve-reads")[0])
        self.assertIn("Permission denied for fs/write_text_file", output)
        self.assertEqual(len(session.requests("fs/write_text_file")), 1)

    def test_an_editor_refuses_the_write(self):
        def play(world):
            editor = Editor(world, refuses=["fs/write_text_file"])
            return editor.prompt([RECTO, *RELAY], world.environment())

        output, session = self.check(play)
        self.assertIn("Not while I am looking", output)
        self.assertEqual(len(session.requests("fs/write_text_file")), 1)


def error_of(card):
    """Returns the error in a card's raw output, from the tool or the agent's result."""
    output = card["rawOutput"]
    result = output.get("result") or output
    return result.get("error") or result["_meta"]["error"]
