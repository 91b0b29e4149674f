"""The review page in Chromium: see `dev/e2e/review`."""

import subprocess
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parents[1] / "review" / "run"


class Review(unittest.TestCase):
    def test_page(self):
        done = subprocess.run([RUN], capture_output=True, text=True)
        if done.returncode == 3:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
