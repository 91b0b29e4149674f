"""The HTTP APIs of language models, as far as the clients under test use them.

Each class translates between one API and the scripted model, which knows only calls, their outputs
and text.
"""

import json
import re


class Responses:
    """OpenAI's Responses API, which Codex uses."""

    path = re.compile(r"/v1/responses$")

    @staticmethod
    def tools(request):
        added = [item for item in request["input"] if item["type"] == "additional_tools"]
        return request.get("tools", []) + [tool for item in added for tool in item["tools"]]

    @staticmethod
    def outputs(request):
        kinds = ("function_call_output", "custom_tool_call_output")
        items = [item for item in request.get("input", []) if item.get("type") in kinds]
        return {item["call_id"]: text_of(item["output"]) for item in items}

    @staticmethod
    def is_aside(request):
        """Whether the client asks for a title or a review, not for the next turn."""
        return bool((request.get("text") or {}).get("format"))

    @staticmethod
    def events(_request, calls, text):
        items = [Responses._item(*call) for call in calls] or [Responses._message(text)]
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

    @staticmethod
    def _item(id_, name, arguments):
        if isinstance(arguments, str):
            return {"type": "custom_tool_call", "call_id": id_, "name": name, "input": arguments}
        item = {"type": "function_call", "id": f"fc_{id_}", "call_id": id_}
        return item | {"name": name, "namespace": "mcp__recto", "arguments": json.dumps(arguments)}

    @staticmethod
    def _message(text):
        content = [{"type": "output_text", "text": text}]
        return {"type": "message", "role": "assistant", "id": "msg_1", "content": content}


class Chat:
    """OpenAI's chat completions."""

    path = re.compile(r"/chat/completions$")

    @staticmethod
    def tools(request):
        return [tool["function"] for tool in request.get("tools") or []]

    @staticmethod
    def outputs(request):
        said = [message for message in request["messages"] if message["role"] == "tool"]
        return {message["tool_call_id"]: text_of(message["content"]) for message in said}

    @staticmethod
    def is_aside(request):
        return not request.get("tools")

    @staticmethod
    def events(_request, calls, text):
        chunk = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        delta = {"role": "assistant", "content": text}
        if calls:
            made = [
                {
                    "index": call_idx,
                    "id": id_,
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for call_idx, (id_, name, arguments) in enumerate(calls)
            ]
            delta = {"role": "assistant", "content": None, "tool_calls": made}
        yield chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        reason = "tool_calls" if calls else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        done = {"index": 0, "delta": {}, "finish_reason": reason}
        yield chunk | {"choices": [done], "usage": usage}
        yield "[DONE]"

    @staticmethod
    def whole(request, calls, text):
        """Returns the answer for a client that does not stream."""
        events = [event for event in Chat.events(request, calls, text) if event != "[DONE]"]
        message = events[0]["choices"][0]["delta"]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return events[1] | {"object": "chat.completion", "choices": [choice]}


class Messages:
    """Anthropic's Messages API."""

    path = re.compile(r"/v1/messages(\?.*)?$")

    @staticmethod
    def tools(request):
        return request.get("tools") or []

    @staticmethod
    def outputs(request):
        parts = [
            part
            for message in request["messages"]
            for part in (message["content"] if isinstance(message["content"], list) else [])
        ]
        results = [part for part in parts if part.get("type") == "tool_result"]
        return {part["tool_use_id"]: text_of(part.get("content", "")) for part in results}

    @staticmethod
    def is_aside(request):
        return not request.get("tools")

    @staticmethod
    def events(_request, calls, text):
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted"}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        yield {"type": "message_start", "message": message}
        blocks = [
            (
                {"type": "tool_use", "id": id_, "name": name, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(arguments)},
            )
            for id_, name, arguments in calls
        ] or [({"type": "text", "text": ""}, {"type": "text_delta", "text": text})]
        for block_idx, (block, delta) in enumerate(blocks):
            yield {"type": "content_block_start", "index": block_idx, "content_block": block}
            yield {"type": "content_block_delta", "index": block_idx, "delta": delta}
            yield {"type": "content_block_stop", "index": block_idx}
        delta = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": usage}
        yield {"type": "message_stop"}


class Gemini:
    """Google's generateContent."""

    path = re.compile(r":(streamGenerateContent|generateContent)(\?.*)?$")

    @staticmethod
    def tools(request):
        groups = request.get("tools") or []
        return [tool for group in groups for tool in group.get("functionDeclarations", [])]

    @staticmethod
    def outputs(request):
        parts = [part for content in request["contents"] for part in content["parts"]]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        return {result.get("id"): text_of(result["response"]) for result in results}

    @staticmethod
    def is_aside(request):
        return not request.get("tools")

    @staticmethod
    def events(request, calls, text):
        yield Gemini.whole(request, calls, text)

    @staticmethod
    def whole(_request, calls, text):
        parts = [
            {"functionCall": {"id": id_, "name": name, "args": arguments}}
            for id_, name, arguments in calls
        ]
        content = {"role": "model", "parts": parts or [{"text": text}]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": usage}


ALL = [Responses, Chat, Messages, Gemini]


def text_of(output):
    """Returns the text of a tool's output as the client passed it on: all text parts in order."""
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(part.get("text", "") for part in output)
    if isinstance(output.get("output"), str):
        return output["output"]
    return json.dumps(output, ensure_ascii=False)
