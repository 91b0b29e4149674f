"""`recto install` with real clients: into a home whose settings have comments and CRLF. The client
itself lists recto, a scripted model calls a tool through it, and uninstalling restores the bytes."""

import json
import os
import unittest

from harness import clients
from harness.model import ScriptedModel
from harness.programs import BIN, RECTO, HttpServer, World

TEXT = "alpha\nbeta\n"
READ = ("read_text_file", {"path": "$/a.txt"})


def crlf(text):
    return text.replace("\n", "\r\n").encode()


class Cases:
    """What is tested of each client that lists its servers."""

    name = ""
    path = ""
    # A command that lists the servers, and what it prints for recto.
    lists = None
    has_http = True
    listed = ""

    def settings(self, world):
        """Returns the settings before recto, and variables for the environment."""
        raise NotImplementedError

    def prompt(self, world):
        """Returns the command for one prompt, or None."""
        return None

    def test_install(self):
        world, file, before = self.prepared()
        self.recto(world, "--dry-run")
        self.assertEqual(file.read_bytes(), before)
        self.recto(world, "--yes")
        after = file.read_bytes()
        self.assertIn(os.fsencode(RECTO), after)
        self.assert_kept(before, after)
        self.assertIn("already configured", self.recto(world, "--yes"))
        if self.lists:
            done = world.run(self.lists, self.environment)
            self.assertRegex(done.stdout + done.stderr, self.listed)
        self.check_uninstall(world, file, before)

    def test_install_of_a_server_over_http(self):
        if not self.has_http:
            self.skipTest("recto install --http rejects this client")
        world, file, before = self.prepared()
        server = self.enterContext(HttpServer([RECTO, "serve"], world.project))
        self.environment["RECTO_TOKEN"] = server.token
        self.recto(world, f"--http={server.url}", "--yes")
        after = file.read_bytes()
        self.assertIn(os.fsencode(server.url), after)
        self.assertNotIn(os.fsencode(server.token), after)
        self.assert_kept(before, after)
        self.check_uninstall(world, file, before)

    def prepared(self):
        """Returns a project, the settings file and its content."""
        model = self.enterContext(ScriptedModel([]))
        world = self.enterContext(World(model, {"a.txt": TEXT}))
        model.turns = world.turns([READ])
        self.environment = environment(world)
        before, more = self.settings(world)
        self.environment |= more
        file = world.home / self.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(before)
        file.chmod(0o640)
        return world, file, before

    def check_uninstall(self, world, file, before):
        """Lets the model call a tool, and uninstalls recto."""
        model = world.model
        command = self.prompt(world)
        if command:
            done = world.run(command, self.environment)
            self.assertRegex(str(model.outputs), r"alpha\\+nbeta", done.stdout + done.stderr)
        self.assert_kept(before, file.read_bytes())
        self.recto(world, "--uninstall", "--yes")
        self.assert_restored(before, file)

    def recto(self, world, *options):
        done = world.run([RECTO, "install", self.name, *options], self.environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def assert_kept(self, before, after):
        """Checks that one piece was inserted and every other byte is as it was."""
        n_same = len(os.path.commonprefix([before, after]))
        n_same += len(os.path.commonprefix([before[::-1], after[::-1]]))
        self.assertGreaterEqual(n_same, len(before), after)

    def assert_restored(self, before, file):
        self.assertEqual(file.read_bytes(), before)
        self.assertEqual(file.stat().st_mode & 0o777, 0o640)


def environment(world):
    """Returns the environment, with programs on the PATH that have no link of their own."""
    folder = world.base / "bin"
    folder.mkdir()
    for client in (clients.Claude, clients.Goose, clients.Opencode):
        name = "claude" if client is clients.Claude else client.program.name
        (folder / name).symlink_to(client.program)
    base = world.environment()
    return base | {"PATH": f"{folder}{os.pathsep}{base['PATH']}"}


def with_comments(client, world, path, key, more_settings={}):
    """Configures a client as other tests do, without recto but with comments and CRLF."""
    more = client.configure([RECTO, "serve"])
    file = world.home / path
    settings = json.loads(file.read_text()) | more_settings
    del settings[key]
    text = json.dumps(settings, indent=4)
    return crlf(f"// mine\n{text[:-2]} // last, too\n}}\n"), more


class Codex(Cases, unittest.TestCase):
    name, path = "codex", ".codex/config.toml"
    lists, listed = [BIN / "codex", "mcp", "list"], r"recto\s+.*serve \.\s+.*enabled"

    def settings(self, world):
        config = (world.codex_home / "config.toml").read_text()
        return crlf("# mine\n" + config + "[mcp_servers.other] # why\ncommand = 'true'\nenabled = false"), {}

    def prompt(self, world):
        return [BIN / "codex", "exec", "--skip-git-repo-check", "--sandbox", "workspace-write", "go"]


class Gemini(Cases, unittest.TestCase):
    name, path = "gemini-cli", ".gemini/settings.json"
    lists, listed = [BIN / "gemini", "mcp", "list"], r"✓\S* recto: .*serve \. .*Connected"

    def settings(self, world):
        return with_comments(clients.Gemini(world), world, self.path, "mcpServers")

    def prompt(self, world):
        return [*clients.Gemini(world).alone(), "--approval-mode", "yolo"]


class Qwen(Cases, unittest.TestCase):
    name, path = "qwen-code", ".qwen/settings.json"
    lists, listed = [BIN / "qwen", "mcp", "list"], r"✓\S* recto: .*serve \. .*Connected"

    def settings(self, world):
        # Qwen Code rewrites settings of another version.
        return with_comments(clients.Qwen(world), world, self.path, "mcpServers", {"$version": 4})

    def prompt(self, world):
        return clients.Qwen(world).alone()


class Opencode(Cases, unittest.TestCase):
    name, path = "opencode", ".config/opencode/opencode.json"
    lists, listed = [clients.Opencode.program, "mcp", "list"], r"recto.*connected"

    def settings(self, world):
        return with_comments(clients.Opencode(world), world, self.path, "mcp")

    def prompt(self, world):
        return clients.Opencode(world).alone()


class Goose(Cases, unittest.TestCase):
    name, path = "goose", ".config/goose/config.yaml"

    def settings(self, world):
        more = clients.Goose(world).configure([RECTO])
        return crlf("# mine\nGOOSE_TELEMETRY_ENABLED: false # why\nextensions:\n"
                    "  todo:\n    enabled: false\n    type: platform\n    name: todo\n"
                    "    description: ''\n# end\n"), more

    def prompt(self, world):
        return clients.Goose(world).alone()


class Continue(Cases, unittest.TestCase):
    name, path = "continue", ".continue/config.yaml"

    def settings(self, world):
        return crlf("# mine\nname: Local\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: scripted # why\n"
                    "    provider: openai\n    model: gpt-4o\n    apiKey: none\n"
                    f"    apiBase: http://127.0.0.1:{world.model.port}/v1\n"), {}

    def prompt(self, world):
        return [BIN / "cn", "--print", "go", "--auto"]


class Copilot(Cases, unittest.TestCase):
    name, path, has_http = "copilot-cli", ".copilot/mcp-config.json", False
    # Prompts need an account.
    lists, listed = [BIN / "copilot", "mcp", "list"], r"recto \(local\)"

    def settings(self, world):
        other = '"other": {"type": "local", "command": "true", "args": [], "tools": ["*"]}'
        return crlf('// mine\n{\n\t"mcpServers": {\n\t\t' + other + " // why\n\t}\n}\n"), {}


class Claude(Cases, unittest.TestCase):
    # Claude Code keeps its state in this file and rewrites it all the time.
    name, path = "claude-code", ".claude.json"
    lists, listed = [clients.Claude.program, "mcp", "list"], r"recto: .*serve \. - .*Connected"
    RULES = crlf('{\n  "permissions": {\n    "allow": ["Bash(ls)"],\n    "deny": []\n  }\n}')

    def settings(self, world):
        self.rules = world.home / ".claude/settings.json"
        self.rules.parent.mkdir()
        self.rules.write_bytes(self.RULES)
        state = {"numStartups": 7, "mcpServers": {"other": {"command": "false", "args": []}}}
        return crlf(json.dumps(state, indent=1)), clients.Claude(world).configure(None)

    def prompt(self, world):
        # The rule allows the read.
        return [clients.Claude.program, "--print", "go"]

    def assert_kept(self, before, after):
        kept = json.loads(after)
        self.assertIn("other", kept["mcpServers"])
        self.assertIn("numStartups", kept)

    def assert_restored(self, before, file):
        self.assertNotIn("recto", json.loads(file.read_bytes())["mcpServers"])
        self.assert_kept(before, file.read_bytes())
        self.assertEqual(self.rules.read_bytes(), self.RULES)


