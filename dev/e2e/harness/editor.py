"""A small ACP client with unsaved buffers, like an editor, that never touches the disk."""

import json
import subprocess
import threading
from pathlib import Path

from .programs import MAX_WAIT
from .session import Session


class Editor:
    """Plays one prompt. `buffers` maps absolute paths to text; `refuses` names the methods that
    are answered with an error; `declines` is the id of a call of the script that is not permitted."""

    def __init__(self, world, buffers=(), refuses=(), declines=None):
        self.world = world
        self.buffers = dict(buffers)
        self.refuses = set(refuses)
        self.declines = declines
        self.messages = []

    def prompt(self, command, environment, timeout=MAX_WAIT):
        self._process = subprocess.Popen(
            [str(part) for part in command],
            cwd=self.world.project,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Kills an agent that hangs, which also ends the read below.
        timer = threading.Timer(timeout, self._process.kill)
        timer.start()
        threading.Thread(target=self._process.stderr.read, daemon=True).start()
        try:
            fs = {"readTextFile": True, "writeTextFile": True}
            capabilities = {"fs": fs}
            self._ask("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
            session = self._ask("session/new", {"cwd": str(self.world.project), "mcpServers": []})
            text = {"type": "text", "text": "go"}
            self._ask("session/prompt", {"sessionId": session["sessionId"], "prompt": [text]})
            self._process.stdin.close()
            self._process.wait(MAX_WAIT)
        finally:
            timer.cancel()
            self._process.kill()
            self._process.stdout.close()
        return Session(self.messages)

    def _ask(self, method, params):
        id_ = f"editor-{method}"
        self._send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        for line in self._process.stdout:
            message = json.loads(line)
            self.messages.append(message)
            if message.get("id") == id_ and "method" not in message:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            if "id" in message and "method" in message:
                self._send({"jsonrpc": "2.0", "id": message["id"]} | self._answer(message))
        raise AssertionError(f"the agent ended before it answered {method}")

    def _answer(self, message):
        method, params = message["method"], message["params"]
        if method in self.refuses:
            return {"error": {"code": -32603, "message": "Not while I am looking"}}
        if method == "fs/read_text_file":
            path = params["path"]
            if path in self.buffers:
                return {"result": {"content": self.buffers[path]}}
            if not Path(path).exists():
                return {"error": {"code": -32002, "message": "Resource not found"}}
            return {"result": {"content": Path(path).read_bytes().decode()}}
        if method == "fs/write_text_file":
            self.buffers[params["path"]] = params["content"]
            return {"result": {}}
        if method == "session/request_permission":
            # Some agents put a prefix before the model's id.
            is_declined = self.declines and params["toolCall"]["toolCallId"].endswith(self.declines)
            kind = "reject_once" if is_declined else "allow_once"
            option = next(option for option in params["options"] if option["kind"] == kind)
            return {"result": {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}}
        return {"error": {"code": -32601, "message": f"Unknown method {method}"}}

    def _send(self, message):
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
