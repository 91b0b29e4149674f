"""An editor with unsaved text: the model reads it, and changes go to the buffer, not to the disk."""

import unittest

from harness.editor import Editor
from harness.model import ScriptedModel, call_id
from harness.programs import BIN, RECTO, World

ON_DISK = "saved\n"
UNSAVED = "saved\nand typed since\n"


class Buffers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with ScriptedModel([]) as cls.model, World(cls.model, {"a.txt": ON_DISK}) as world:
            cls.model.turns = world.turns([
                ("read_text_file", {"path": "$/a.txt"}),
                ("ReadLines", {"file_path": "a.txt", "match": "typed"}),
                ("edit_text_file", {"path": "$/a.txt", "old_string": "typed", "new_string": "edited"}),
            ])
            cls.path = str(world.path("a.txt"))
            editor = Editor(world, {cls.path: UNSAVED})
            command = [RECTO, "acp", "--results", "text", "--", BIN / "codex-acp"]
            cls.session = editor.prompt(command, world.environment())
            cls.buffers = editor.buffers
            cls.on_disk = world.text("a.txt")

    def test_the_model_reads_unsaved_text(self):
        self.assertIn(UNSAVED, self.model.output(0))
        self.assertIn("2\tand typed since", self.model.output(1))

    def test_an_edit_goes_into_the_buffer(self):
        self.assertEqual(self.buffers, {self.path: "saved\nand edited since\n"})
        self.assertEqual(self.on_disk, ON_DISK)

    def test_the_diff_is_that_of_the_buffer(self):
        content = self.session.cards()[call_id(2, 0)].get("content", [])
        diffs = [(part["oldText"], part["newText"]) for part in content if part["type"] == "diff"]
        self.assertEqual(diffs, [(UNSAVED, "saved\nand edited since\n")])

    def test_every_message_is_valid(self):
        checked, invalid = self.session.validity()
        print(f"\n  messages checked against the v1 schema: {sum(checked.values())} {checked}")
        self.assertEqual(invalid, [])
