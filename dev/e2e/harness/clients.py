"""The clients under test besides Codex: how each is configured and started.

Each has `configure`, which writes its settings with the scripted model as the provider and, unless
`server` is `None`, an MCP server named `recto`; `alone`, the command for one prompt without a user;
and `agent`, the command that speaks ACP.
"""

import json

from .programs import BIN, PACKAGES


class Client:
    """A client. `configure` returns variables for its environment."""

    def __init__(self, world):
        self.world = world
        self.url = f"http://127.0.0.1:{world.model.port}"

    def write(self, path, settings):
        path = self.world.home / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
        return path


class Goose(Client):
    program = PACKAGES / "@aaif/goose-binary-linux-x64/bin/goose"

    def configure(self, server):
        recto = server and {
            "recto": {
                "enabled": True,
                "type": "stdio",
                "name": "recto",
                "cmd": server[0],
                "args": server[1:],
                "timeout": 60,
            }
        }
        self.write(
            ".config/goose/config.yaml",
            {"GOOSE_TELEMETRY_ENABLED": False, "extensions": recto or {}},
        )
        return {
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "gpt-4o",
            "GOOSE_MODE": "auto" if server else "approve",
            "GOOSE_DISABLE_KEYRING": "1",
            "OPENAI_HOST": self.url,
            "OPENAI_API_KEY": "none",
        }

    def alone(self):
        return [self.program, "run", "--no-session", "--text", "go"]

    def agent(self):
        return [self.program, "acp"]


class Qwen(Client):
    program = BIN / "qwen"

    def configure(self, server):
        recto = server and {
            "recto": {"command": server[0], "args": server[1:], "alwaysLoadTools": True}
        }
        self.write(
            ".qwen/settings.json",
            {
                "security": {"auth": {"selectedType": "openai"}},
                "general": {"disableAutoUpdate": True},
                "privacy": {"usageStatisticsEnabled": False},
                "tools": {"approvalMode": "yolo" if server else "default"},
                "mcpServers": recto or {},
            },
        )
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "scripted",
        }

    def alone(self):
        return [self.program, "--prompt", "go"]

    def agent(self):
        return [self.program, "--acp"]


class Gemini(Client):
    program = BIN / "gemini"

    def configure(self, server):
        recto = server and {"recto": {"command": server[0], "args": server[1:], "trust": True}}
        trust = {"enabled": False}
        self.write(
            ".gemini/settings.json",
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": trust},
                "general": {"enableAutoUpdate": False},
                "privacy": {"usageStatisticsEnabled": False},
                "mcpServers": recto or {},
            },
        )
        return {
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_API_KEY": "none",
            "GEMINI_MODEL": "gemini-2.5-flash",
        }

    def alone(self):
        return [self.program, "--prompt", "go"]

    def agent(self):
        return [self.program, "--acp"]


class Opencode(Client):
    program = PACKAGES / "opencode-linux-x64/bin/opencode"

    def configure(self, server):
        recto = server and {"recto": {"type": "local", "command": server, "enabled": True}}
        model = {"name": "scripted", "limit": {"context": 200_000, "output": 8_000}}
        self.write(
            ".config/opencode/opencode.json",
            {
                "model": "local/scripted",
                "autoupdate": False,
                "share": "disabled",
                "provider": {
                    "local": {
                        "npm": "@ai-sdk/openai-compatible",
                        "options": {"baseURL": f"{self.url}/v1", "apiKey": "none"},
                        "models": {"scripted": model},
                    }
                },
                "permission": {"*": "allow"} if server else {"*": "allow", "recto_edit*": "ask"},
                "mcp": recto or {},
            },
        )
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }

    def alone(self):
        return [self.program, "run", "go"]

    def agent(self):
        return [self.program, "acp"]


class Claude(Client):
    program = PACKAGES / "@anthropic-ai/claude-agent-sdk-linux-x64/claude"

    def configure(self, server):
        if server:
            recto = {"command": server[0], "args": server[1:], "alwaysLoad": True}
            self.write("servers.json", {"mcpServers": {"recto": recto}})
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
        }

    def alone(self):
        servers = self.world.home / "servers.json"
        options = ["--mcp-config", servers, "--strict-mcp-config", "--allowedTools", "mcp__recto"]
        return [self.program, "--print", "go", *options]

    def agent(self):
        return [BIN / "claude-agent-acp"]
