"""acpx, `recto acp`, codex-acp, Codex and the scripted model: what the user sees."""

import unittest

from harness import acpx
from harness.editor import Editor
from harness.model import ScriptedModel, call_id
from harness.programs import BIN, PACKAGES, RECTO, World

FILES = {"a.txt": "alpha\nbeta\n", "b.txt": "one\ntwo\nthree\n"}
EDITS = [{"old_string": "alpha", "new_string": "A"}, {"old_string": "gamma", "new_string": "G"}]

# Each row is a call and its expected card: kind, start of the title, the file with the first line
# that is shown, and for changes the texts before and after (`None` before for a new file).
ROWS = [
    ("read_text_file", {"path": "$/a.txt"}, "read", "Read a.txt", "a.txt", None, None),
    (
        "edit_text_file",
        {"path": "$/a.txt", "old_string": "beta", "new_string": "gamma"},
        "edit", "Edit a.txt", "a.txt", 2, ("alpha\nbeta\n", "alpha\ngamma\n"),
    ),
    (
        "multi_edit_text_file",
        {"path": "$/a.txt", "edits": EDITS},
        "edit", "Edit a.txt (2 edits)", "a.txt", 1, ("alpha\ngamma\n", "A\nG\n"),
    ),
    (
        "write_text_file",
        {"path": "$/new.txt", "content": "new\n"},
        "edit", "", "new.txt", None, (None, "new\n"),
    ),
    ("text_read", {"path": "b.txt"}, "read", "Read b.txt", "b.txt", None, None),
    (
        "text_replace",
        {"path": "b.txt", "hash": "{hash}", "lines": [1, 2], "old": "one", "new": "ONE"},
        "edit", "", "b.txt", 1, ("one\ntwo\nthree\n", "ONE\ntwo\nthree\n"),
    ),
    ("ReadLines", {"file_path": "b.txt", "lines": "2-3"}, "read", "Read b.txt", "b.txt", 2, None),
]
# Zed's, which codex-acp replaced.
OLDER_ADAPTER = [
    PACKAGES / "@zed-industries/codex-acp-linux-x64/bin/codex-acp",
    "-c", 'approval_policy="on-request"', "-c", 'sandbox_mode="workspace-write"',
]
WROTE = {"a.txt": "A\nG\n", "b.txt": "ONE\ntwo\nthree\n", "new.txt": "new\n"}


class Relay(unittest.TestCase):
    """One session with all the calls; each test checks one aspect."""

    @classmethod
    def setUpClass(cls):
        with ScriptedModel([]) as cls.model, World(cls.model, FILES) as world:
            cls.model.turns = world.turns([(tool, arguments) for tool, arguments, *_ in ROWS])
            cls.session, done = acpx.run(world, ["acp", "--results", "text", "--", BIN / "codex-acp"])
            assert done.returncode == 0, done.stdout + done.stderr
            cls.project = world.project
            cls.wrote = {name: world.text(name) for name in WROTE}
        cls.cards = cls.session.cards()

    def each(self, check):
        """Runs a check on each card with its row."""
        for turn_idx, (tool, _, *row) in enumerate(ROWS):
            with self.subTest(tool):
                check(self.cards[call_id(turn_idx, 0)], *row)

    def test_each_call_is_one_card(self):
        self.each(lambda card, *_: self.assertEqual(card["n_calls"], 1))
        others = [id_ for id_ in self.cards if not id_.startswith(("call_", "guardian_"))]
        self.assertEqual(others, [])

    def test_cards_have_kind_title_and_status(self):
        def check(card, kind, title, name, *_):
            self.assertEqual(card.get("kind"), kind)
            self.assertTrue(card["title"].startswith(title), card["title"])
            self.assertIn(name, card["title"])
            # A finished call stays finished, whatever the agent reports later.
            done = card["statuses"][card["statuses"].index("completed") :]
            self.assertEqual(set(done), {"completed"})

        self.each(check)

    def test_cards_point_at_the_file(self):
        def check(card, _kind, _title, name, line, _texts):
            locations = card.get("locations", [])
            self.assertEqual({place["path"] for place in locations}, {str(self.project / name)})
            if line is not None:
                self.assertEqual(locations[0].get("line"), line)

        self.each(check)

    def test_changes_show_their_diff(self):
        def check(card, _kind, _title, name, _line, texts):
            diffs = [part for part in card.get("content", []) if part["type"] == "diff"]
            shown = [(part["path"], part.get("oldText"), part["newText"]) for part in diffs]
            self.assertEqual(shown, [(str(self.project / name), *texts)] if texts else [])

        self.each(check)

    def test_a_card_stands_before_the_editor_is_asked(self):
        asked = self.session.index("fs/read_text_file")
        self.assertIsNotNone(asked)
        self.assertLess(self.session.index("session/update", call_id(0, 0)), asked)

    def test_the_editor_wrote(self):
        paths = [params["path"] for params in self.session.requests("fs/write_text_file")]
        names = ["a.txt", "a.txt", "new.txt", "b.txt"]
        self.assertEqual(paths, [str(self.project / name) for name in names])
        self.assertEqual(self.wrote, WROTE)

    def test_every_message_is_valid(self):
        checked, invalid = self.session.validity()
        print(f"\n  messages checked against the v1 schema: {sum(checked.values())} {checked}")
        self.assertEqual(invalid, [])
        for method in ("session/new", "session/update", "fs/read_text_file", "fs/write_text_file"):
            self.assertIn(method, checked)


WRITE = ("write_text_file", {"path": "$/a.txt", "content": "new\n"})


class Permission(unittest.TestCase):
    def test_a_request_shows_the_diff(self):
        with ScriptedModel([]) as model, World(model, FILES) as world:
            model.turns = world.turns([WRITE])
            environment = world.environment() | {"INITIAL_AGENT_MODE": "workspace-write"}
            relay = ["acp", "--results", "text", "--", BIN / "codex-acp"]
            session, _ = acpx.run(world, relay, environment=environment)
            self.assertEqual(world.text("a.txt"), "new\n")
        self.check_request(session)

    @unittest.skipUnless(OLDER_ADAPTER[0].exists(), "its package has no program for this platform")
    def test_the_older_adapter_has_one_card_with_a_diff(self):
        for declines, end in [(None, "completed"), (call_id(0, 0), "failed")]:
            with self.subTest(end), ScriptedModel([]) as model, World(model, FILES) as world:
                model.turns = world.turns([WRITE])
                editor = Editor(world, declines=declines)
                command = [RECTO, "acp", "--results", "text", "--", *OLDER_ADAPTER]
                session = editor.prompt(command, world.environment())
                path = str(world.path("a.txt"))
                self.assertEqual(editor.buffers, {} if declines else {path: "new\n"})
                self.check_request(session)
                ((id_, card),) = session.cards().items()
                self.assertEqual((id_, card["n_calls"]), (call_id(0, 0), 1))
                self.assertEqual(card["statuses"][-1], end)

    def check_request(self, session):
        (request,) = session.requests("session/request_permission")
        call = request["toolCall"]
        self.assertEqual(call["kind"], "edit")
        self.assertIn("a.txt", call["title"])
        (diff,) = [part for part in call["content"] if part["type"] == "diff"]
        self.assertEqual((diff.get("oldText"), diff["newText"]), (FILES["a.txt"], "new\n"))
        checked, invalid = session.validity()
        self.assertEqual(invalid, [])
        self.assertIn("session/request_permission", checked)
