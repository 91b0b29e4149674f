"""One session as its client saw it: the messages in order, their cards, and their validity."""

import json
import subprocess
from pathlib import Path

from .programs import PACKAGES, node

VALIDATE = Path(__file__).with_name("validate.mjs")


class Session:
    """The messages that a client sent and received, and those that recto created or changed."""

    def __init__(self, messages, from_recto=()):
        self.messages = messages
        self.from_recto = list(from_recto)

    def cards(self):
        """Returns the tool calls by id, with all updates applied and the number of announcements."""
        cards = {}
        for message in self.messages:
            update = message.get("params", {}).get("update", {})
            if update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
                card = cards.setdefault(update["toolCallId"], {"n_calls": 0, "statuses": []})
                card["n_calls"] += update["sessionUpdate"] == "tool_call"
                card["statuses"] += [update["status"]] if update.get("status") else []
                card.update({key: value for key, value in update.items() if value is not None})
        return cards

    def index(self, method, id_=None):
        """Returns the index of the first message of a method, or of a tool call's announcement."""
        for message_idx, message in enumerate(self.messages):
            update = message.get("params", {}).get("update", {})
            if message.get("method") == method and (not id_ or update.get("toolCallId") == id_):
                return message_idx
        return None

    def requests(self, method):
        return [message["params"] for message in self.messages if message.get("method") == method]

    def validity(self):
        """Returns how many messages of each method were checked, and which are invalid."""
        lines = "\n".join(map(json.dumps, self.messages + self.from_recto))
        command = [node() / "node", VALIDATE, PACKAGES]
        answer = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        report = json.loads(answer.stdout)
        return report["checked"], report["invalid"]


def parse_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def read_log(path):
    """Returns recto's own messages, from the file of `--log-messages`."""
    entries = parse_lines(Path(path).read_text())
    return [entry["message"] for entry in entries if entry["from"] == "recto"]
