"""A scripted language model on loopback that implements the part of the Responses API that Codex uses.

It plays a list of turns. A turn is a list of tool calls made at once; after the last turn comes a
final message. The conversation that Codex sends determines the next turn, so retries are harmless.
The model keeps all requests for the tests. Codex also asks the model for its automatic review of
dangerous calls, which is answered `allow`, and for a title.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAMESPACE = "mcp__recto"


class ScriptedModel:
    """Serves one script until it is closed; a context manager.

    `turns` contains lists of `(tool, arguments)`. In strings of the arguments, `{hash}` is replaced
    with the last hash in a tool output, `{first_hash}` with the first. Tools are called in the
    namespace of the MCP server `recto`; string arguments are JavaScript for `exec`, as the newest
    models call tools.
    """

    def __init__(self, turns, final="Done."):
        self.turns = turns
        self.final = final
        self.requests = []
        self.reviews = []
        self.refused = []
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
        request = self.requests[0]
        added = [item for item in request["input"] if item["type"] == "additional_tools"]
        return request.get("tools", []) + [tool for item in added for tool in item["tools"]]

    @property
    def outputs(self):
        """Returns the text of each tool output that the model received, by call id."""
        found = {}
        for request in self.requests:
            found.update(tool_outputs(request))
        return found

    def output(self, turn_idx=0, call_idx=0):
        """Returns the result of one call of the script, as the model received it."""
        return self.outputs[call_id(turn_idx, call_idx)]

    def _answer(self, request):
        """Returns the next items of the model."""
        if (request.get("text") or {}).get("format"):
            self.reviews += [request] if "outcome" in json.dumps(request["text"]) else []
            return [message('{"outcome": "allow", "title": "Scripted"}')]
        self.requests.append(request)
        seen = tool_outputs(request)
        for turn_idx, calls in enumerate(self.turns):
            if call_id(turn_idx, 0) not in seen:
                hashes = re.findall(r"\bhash\W+([0-9a-f]{12})\b", "\n".join(seen.values()))
                return [
                    call_item(call_id(turn_idx, call_idx), tool, arguments, hashes)
                    for call_idx, (tool, arguments) in enumerate(calls)
                ]
        return [message(self.final)]

    def _handler(model):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if not self.path.endswith("/v1/responses"):
                    return self.refuse()
                items = model._answer(json.loads(body))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    for event in events(items):
                        data = json.dumps(event)
                        self.wfile.write(f"event: {event['type']}\ndata: {data}\n\n".encode())
                except OSError:
                    pass  # Codex ended while it was still asking for a title.

            def refuse(self):
                model.refused.append(f"{self.command} {self.path}")
                self.send_response(404)
                self.send_header("content-length", "0")
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True

            # The programs under test use this server as their proxy: requests to other hosts
            # are rejected and recorded.
            do_GET = do_CONNECT = refuse

            def log_message(self, *_):
                pass

        return Handler


def call_id(turn_idx, call_idx):
    return f"call_{turn_idx}_{call_idx}"


def call_item(id_, tool, arguments, hashes):
    if isinstance(arguments, str):
        return {"type": "custom_tool_call", "call_id": id_, "name": tool, "input": arguments}
    text = json.dumps(arguments)
    if hashes:
        text = text.replace("{hash}", hashes[-1]).replace("{first_hash}", hashes[0])
    name = tool.replace(".", "_")
    item = {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "arguments": text}
    return item | {"name": name, "namespace": NAMESPACE}


def tool_outputs(request):
    found = {}
    for item in request.get("input", []):
        if item.get("type") in ("function_call_output", "custom_tool_call_output"):
            output = item["output"]
            if isinstance(output, list):
                output = "\n".join(part.get("text", "") for part in output)
            found[item["call_id"]] = output
    return found


def message(text):
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "id": "msg_1", "content": content}


def events(items):
    response = {"id": "resp_1"}
    yield {"type": "response.created", "response": response}
    for output_idx, item in enumerate(items):
        yield {"type": "response.output_item.done", "output_index": output_idx, "item": item}
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    yield {"type": "response.completed", "response": response | {"usage": usage}}
