"""Runs acpx, a real ACP client, against an agent for one prompt."""

import shlex

from .programs import BIN, RECTO
from .session import Session, parse_lines, read_log


def run(world, relay, policy="--approve-all", environment=None):
    """Prompts once through `recto RELAY…` and returns the session and acpx's exit status."""
    log = world.base / "messages.jsonl"
    command, *more = relay
    agent = [RECTO, command, "--log-messages", log, *more]
    agent = " ".join(shlex.quote(str(part)) for part in agent)
    done = world.run(
        [BIN / "acpx", "--cwd", world.project, policy, "--format", "json", "--agent", agent, "exec", "go"],
        environment,
    )
    if not log.exists():
        raise AssertionError(f"recto did not start: {done.stdout}\n{done.stderr}")
    return Session(parse_lines(done.stdout), read_log(log)), done
