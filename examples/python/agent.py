"""An agent in Python whose file tools are recto's: `python agent.py DIRECTORY`.

A scripted model takes the place of a real one, so that the example runs without a network: it searches
for a word and replaces it in the first file. Needs `pip install -r requirements.txt` and recto on the
PATH, or its path in RECTO.
"""

import asyncio
import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

RECTO = os.environ.get("RECTO", "recto")
MAX_TURNS = 20


def scripted_model(tools, results):
    """Returns the next call as (name, arguments), or a text for the user.

    A real model gets `tools` and the results so far through its API and decides by itself.
    """
    assert any(tool["name"] == "ReadLines" for tool in tools)
    match results:
        case []:
            return "ReadLines", {"file_path": "**/*.txt", "match": "colour", "only": "files"}
        case [found]:
            path = found["structured"]["matched_files"][0]["file_path"]
            edit = {"path": path, "old_string": "colour", "new_string": "color", "replace_all": True}
            return "edit_text_file", edit
        case [_, edited] if not edited["is_error"]:
            return "Done:\n" + edited["text"]
        case _:
            return "Failed:\n" + results[-1]["text"]


async def work(root, model):
    """Lets a model call tools until it answers with a text."""
    server = StdioServerParameters(command=RECTO, args=["serve", str(root)])
    async with Client(server) as client:
        listed = await client.list_tools()
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in listed.tools
        ]
        results = []
        for _ in range(MAX_TURNS):
            turn = model(tools, results)
            if isinstance(turn, str):
                return turn
            name, arguments = turn
            result = await client.call_tool(name, arguments)
            # An error is text for the model as well: it says what to send next.
            results.append({
                "text": "\n".join(block.text for block in result.content if block.type == "text"),
                "structured": result.structured_content,
                "is_error": bool(result.is_error),
            })
    return f"Not done after {MAX_TURNS} turns"


if __name__ == "__main__":
    print(asyncio.run(work(Path(sys.argv[1]).resolve(), scripted_model)))
