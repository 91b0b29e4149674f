"""The agent in `examples/python`, which uses the `mcp` package."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness.programs import CACHE, E2E, MAX_WAIT, RECTO

EXAMPLE = E2E.parents[1] / "examples/python/agent.py"


class PythonExample(unittest.TestCase):
    def test_the_agent_edits_the_file(self):
        with tempfile.TemporaryDirectory(prefix="recto-e2e-") as folder:
            root, state = Path(folder) / "root", Path(folder) / "state"
            root.mkdir()
            (root / "a.txt").write_text("a colour\n")
            done = subprocess.run(
                [CACHE / "python/bin/python", EXAMPLE, root],
                env={**os.environ, "RECTO": RECTO, "RECTO_STATE_DIR": str(state)},
                capture_output=True,
                text=True,
                timeout=MAX_WAIT,
            )
            self.assertTrue(done.stdout.startswith("Done:"), done.stdout + done.stderr)
            self.assertEqual((root / "a.txt").read_text(), "a color\n")
