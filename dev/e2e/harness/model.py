"""A scripted language model on loopback that implements the APIs in `dialects`.

It plays a list of turns. A turn is a list of tool calls made at once; after the last turn comes a
final message. The conversation that the client sends determines the next turn, so retries are
harmless. The model keeps all requests for the tests. Clients also ask for titles and the like, and
Codex for its automatic review of dangerous calls, which is answered `allow`.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import dialects


class ScriptedModel:
    """Serves one script until it is closed; a context manager.

    `turns` contains lists of `(tool, arguments)`. In strings of the arguments, `{hash}` is replaced
    with the last hash in a tool output, `{first_hash}` with the first. Tools are called by the name
    under which the client offers them, whatever prefix it adds; string arguments are JavaScript for
    `exec`, as the newest models call tools in Codex.
    """

    def __init__(self, turns, final="Done."):
        self.turns = turns
        self.final = final
        self.requests = []
        self.reviews = []
        self.refused = []
        self._dialect = None
        self._outputs = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    @property
    def tools(self):
        """Returns the tool definitions in the first request."""
        return self._dialect.tools(self.requests[0])

    @property
    def outputs(self):
        """Returns the text of each tool output that the model received, by call id."""
        return self._outputs

    def output(self, turn_idx=0, call_idx=0):
        """Returns the result of one call of the script, as the client passed it to the model."""
        return self._outputs[call_id(turn_idx, call_idx)]

    def _answer(self, dialect, request):
        """Returns the calls and the text of the next turn."""
        if dialect.is_aside(request):
            self.reviews += [request] if "outcome" in json.dumps(request.get("text")) else []
            return [], '{"outcome": "allow", "title": "Scripted"}'
        self._dialect = dialect
        self.requests.append(request)
        seen = dialect.outputs(request)
        self._outputs.update(seen)
        for turn_idx, calls in enumerate(self.turns):
            if call_id(turn_idx, 0) not in seen:
                hashes = re.findall(r"\bhash\W+([0-9a-f]{12})\b", "\n".join(seen.values()))
                offered = [tool.get("name", "") for tool in dialect.tools(request)]
                return [
                    (call_id(turn_idx, call_idx), *call_of(tool, filled(arguments, hashes), offered))
                    for call_idx, (tool, arguments) in enumerate(calls)
                ], None
        return [], self.final

    def _handler(model):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                dialect = next((one for one in dialects.ALL if one.path.search(self.path)), None)
                if not dialect:
                    return self.refuse()
                request = json.loads(body)
                calls, text = model._answer(dialect, request)
                is_whole = not request.get("stream") and "stream" not in self.path
                if is_whole and hasattr(dialect, "whole"):
                    answer = json.dumps(dialect.whole(request, calls, text)).encode()
                    return self.send("application/json", [answer])
                self.send("text/event-stream", map(line, dialect.events(request, calls, text)))

            def send(self, kind, parts):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    for part in parts:
                        self.wfile.write(part)
                except OSError:
                    pass  # The client ended while it was still asking for a title.

            def refuse(self):
                model.refused.append(f"{self.command} {self.path}")
                self.send_response(404)
                self.send_header("content-length", "0")
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True

            # The programs under test use this server as their proxy: requests to other hosts
            # are rejected and recorded.
            do_GET = do_HEAD = do_CONNECT = refuse

            def log_message(self, *_):
                pass

        return Handler


def line(event):
    """Returns a server-sent event."""
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def call_id(turn_idx, call_idx):
    return f"call_{turn_idx}_{call_idx}"


def offered_name(tool, offered):
    """Returns the name under which a client offers a tool, if it does: it may add a prefix and
    replace dots."""
    spellings = (tool, tool.replace(".", "_"), tool.replace(".", "-"))
    prefixed = [name for name in offered if name.endswith(spellings) and "recto" in name]
    return min(prefixed, key=len, default=None)


def call_of(tool, arguments, offered):
    """Returns the name and arguments of a call as the client expects it."""
    name = offered_name(tool, offered)
    underscored = tool.replace(".", "_")
    if name is None and "tool_call" in offered:
        # Qwen Code does not define the tools of MCP servers; this one calls them.
        return "tool_call", {"name": f"mcp__recto__{underscored}", "arguments": arguments}
    return name or underscored, arguments


def filled(arguments, hashes):
    if isinstance(arguments, str) or not hashes:
        return arguments
    text = json.dumps(arguments)
    return json.loads(text.replace("{hash}", hashes[-1]).replace("{first_hash}", hashes[0]))
