"""The official MCP conformance suites, against `recto serve --http` and against the test server in
`dev/conformance`, which serves what the suites call by name through recto's protocol layer.

`UPDATE_EXPECT=1 dev/e2e/run test_conformance` writes the table in `conformance/README.md`.
"""

import json
import os
import re
import subprocess
import tempfile
import tomllib
import unittest
from collections import Counter
from pathlib import Path

from harness.programs import CACHE, E2E, MAX_WAIT, RECTO, HttpServer, node

HERE = E2E / "conformance"
README = HERE / "README.md"
TEST_SERVER = os.environ.get("RECTO_CONFORMANCE") or Path(RECTO).parent / "recto-conformance"
SERVERS = {"recto": [RECTO, "serve"], "test server": [TEST_SERVER]}
SUITES = {
    "0.1.16": ("conformance-0.1", []),
    "0.2.0-alpha.12, revision 2025-11-25": ("conformance-0.2", ["--requirements", "2025-11-25"]),
    "0.2.0-alpha.12, revision 2026-07-28": ("conformance-0.2", ["--requirements", "2026-07-28"]),
}


def run(server, suite):
    """Returns the checks of each scenario."""
    package, options = SUITES[suite]
    program = CACHE / f"conformance/node_modules/{package}/dist/index.js"
    with tempfile.TemporaryDirectory(prefix="recto-e2e-") as folder:
        command = [node() / "node", "--import", HERE / "token.mjs", program, "server"]
        done = subprocess.run(
            [*command, "--url", server.url, *options, "--output-dir", folder],
            env={**os.environ, "RECTO_TOKEN": server.token},
            capture_output=True,
            text=True,
            timeout=MAX_WAIT,
        )
        summary = done.stdout.split("=== SUMMARY ===")[-1]
        scenarios = re.findall(r"^[✓✗] ([\w-]+): \d+ passed", summary, re.M)
        checks = {}
        for scenario in scenarios:
            results = list(Path(folder).glob(f"server-{scenario}-20*/checks.json"))
            assert len(results) == 1, (scenario, results)
            checks[scenario] = json.loads(results[0].read_text())
    assert checks, done.stdout + done.stderr
    return checks


def count(checks):
    return Counter(check["status"] for check in checks)


def shown(checks):
    """Returns the checks of a scenario as a cell of the table."""
    if checks is None:
        return ""
    n = count(checks)
    words = [f"{n['SUCCESS']} passed"]
    for status, word in [("FAILURE", "failed"), ("WARNING", "warned about"), ("SKIPPED", "skipped")]:
        if n[status]:
            words.append(f"{n[status]} {word}")
    return ", ".join(words)


def table(results, reasons, not_offered):
    """Returns the results as Markdown."""
    lines = []
    for suite in SUITES:
        lines += [f"### {suite}", "", "| scenario | recto | test server | |", "|---|---|---|---|"]
        own, fixtures = (results[server, suite] for server in SERVERS)
        for scenario in own:
            failed = any(count(one[scenario])["FAILURE"] for one in (own, fixtures))
            note = reasons.get(scenario, "") if failed else ""
            cells = [shown(one.get(scenario)) for one in (own, fixtures)]
            lines.append(f"| {scenario} | {cells[0]} | {cells[1]} | {note} |")
        totals = [
            sum((count(checks) for name, checks in one.items() if name not in not_offered), Counter())
            for one in (own, fixtures)
        ]
        cells = [f"{n['SUCCESS']} passed, {n['FAILURE']} failed" for n in totals]
        lines += [f"| **without the extension** | {cells[0]} | {cells[1]} | |", ""]
    return "\n".join(lines)


class Conformance(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.expected = tomllib.loads((HERE / "expected_failures.toml").read_text())
        cls.results = {}
        for name, command in SERVERS.items():
            with HttpServer(command) as server:
                for suite in SUITES:
                    cls.results[name, suite] = run(server, suite)

    def check(self, server, *sections):
        expected = {scenario for section in sections for scenario in self.expected[section]}
        seen = set()
        for suite in SUITES:
            for scenario, checks in self.results[server, suite].items():
                failed = [check for check in checks if check["status"] == "FAILURE"]
                seen |= {scenario} if failed else set()
                messages = [check.get("errorMessage") for check in failed]
                if scenario not in expected:
                    self.assertEqual(messages, [], f"{suite}: {scenario}")
        self.assertEqual(expected - seen, set(), "listed, but nothing of it fails")

    def test_recto_fails_only_for_lack_of_fixtures(self):
        self.check("recto", "needs_fixtures", "not_offered")

    def test_with_fixtures_nothing_fails_but_an_optional_extension(self):
        self.check("test server", "not_offered")

    def test_the_table_is_current(self):
        reasons = {}
        for section in self.expected.values():
            reasons |= section
        text = README.read_text()
        marker = "<!-- generated by test_conformance -->\n"
        head, _, _ = text.partition(marker)
        current = head + marker + "\n" + table(self.results, reasons, self.expected["not_offered"])
        if os.environ.get("UPDATE_EXPECT"):
            README.write_text(current)
        else:
            self.assertEqual(text, current, "UPDATE_EXPECT=1 updates it")
