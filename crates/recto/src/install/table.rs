//! The clients that `recto install` knows.

use super::client::{
    Client, ConfigFile, DefaultRoot, EntryKind, Form, HttpSupport, Member, OwnCommand, Place,
    TOKEN_VARIABLE,
};
use super::format::Format;

/// The name of recto's ACP agent in an editor.
const AGENT: &str = "Codex with recto";

const fn server(path: &'static [&'static str]) -> EntryKind {
    EntryKind { path, form: Form::Server(&[]) }
}

const fn file(
    places: &'static [Place],
    format: Format,
    entries: &'static [EntryKind],
) -> ConfigFile {
    ConfigFile { places, format, seed: "", entries }
}

const MCP_SERVERS: EntryKind = server(&["mcpServers", "recto"]);

const CLAUDE_SERVER: &[EntryKind] = &[EntryKind {
    path: &["mcpServers", "recto"],
    form: Form::Server(&[("type", Member::Text("stdio")), ("alwaysLoad", Member::Flag(true))]),
}];

const CLAUDE_RULES: &[EntryKind] =
    &[EntryKind { path: &["permissions", "allow"], form: Form::ReadingRules }];

const CODEX: &[EntryKind] = &[EntryKind {
    path: &["mcp_servers", "recto"],
    // Newer models see no tools otherwise.
    form: Form::Server(&[("omit_tools_from", Member::List(&["deferred"]))]),
}];

const VSCODE: &[EntryKind] = &[EntryKind {
    path: &["servers", "recto"],
    form: Form::Server(&[("type", Member::Text("stdio"))]),
}];

const QWEN: &[EntryKind] = &[EntryKind {
    path: &["mcpServers", "recto"],
    form: Form::Server(&[("alwaysLoadTools", Member::Flag(true))]),
}];

const COPILOT: &[EntryKind] = &[EntryKind {
    path: &["mcpServers", "recto"],
    form: Form::Server(&[("type", Member::Text("local")), ("tools", Member::List(&["*"]))]),
}];

const OPENCODE: &[EntryKind] = &[
    EntryKind { path: &["mcp", "recto"], form: Form::Opencode(1) },
    EntryKind { path: &["mcp", "servers", "recto"], form: Form::Opencode(2) },
];

const CONTINUE: &[EntryKind] = &[EntryKind {
    path: &["mcpServers", "recto"],
    form: Form::Server(&[("name", Member::Text("recto"))]),
}];

const CONTINUE_SEED: &str = "name: recto\nversion: 0.0.1\nschema: v1\n";

/// The clients, in the order in which they are listed.
pub static CLIENTS: [Client; 15] = [
    Client {
        name: "codex",
        title: "Codex",
        programs: &["codex"],
        traces: &[Place::Variable("CODEX_HOME", ".codex", "")],
        root: DefaultRoot::WorkingDirectory,
        command: Some(OwnCommand {
            add: &["codex", "mcp", "add", "recto", "--", "COMMAND"],
            remove: None,
            has_project: false,
        }),
        user: &[file(
            &[Place::Variable("CODEX_HOME", ".codex", "config.toml")],
            Format::Toml,
            CODEX,
        )],
        project: &[file(&[Place::Project(".codex/config.toml")], Format::Toml, CODEX)],
        http: HttpSupport::Entry(&[
            ("url", Member::Url),
            ("bearer_token_env_var", Member::Text(TOKEN_VARIABLE)),
            ("omit_tools_from", Member::List(&["deferred"])),
        ]),
        source: "https://developers.openai.com/codex/mcp",
    },
    Client {
        name: "claude-code",
        title: "Claude Code",
        programs: &["claude"],
        traces: &[Place::Home(".claude.json"), Place::Variable("CLAUDE_CONFIG_DIR", ".claude", "")],
        root: DefaultRoot::WorkingDirectory,
        command: Some(OwnCommand {
            add: &["claude", "mcp", "add-json", "--scope", "SCOPE", "recto", "JSON"],
            remove: Some(&["claude", "mcp", "remove", "--scope", "SCOPE", "recto"]),
            has_project: false,
        }),
        user: &[
            file(
                &[Place::Variable("CLAUDE_CONFIG_DIR", "", ".claude.json")],
                Format::Json,
                CLAUDE_SERVER,
            ),
            file(
                &[Place::Variable("CLAUDE_CONFIG_DIR", ".claude", "settings.json")],
                Format::Json,
                CLAUDE_RULES,
            ),
        ],
        project: &[
            file(&[Place::Project(".mcp.json")], Format::Json, CLAUDE_SERVER),
            file(&[Place::Project(".claude/settings.json")], Format::Json, CLAUDE_RULES),
        ],
        http: HttpSupport::Entry(&[
            ("type", Member::Text("http")),
            ("url", Member::Url),
            ("headers", Member::Authorization("Bearer ${RECTO_TOKEN}")),
            ("alwaysLoad", Member::Flag(true)),
        ]),
        source: "https://code.claude.com/docs/en/mcp",
    },
    Client {
        name: "cursor",
        title: "Cursor",
        programs: &["cursor", "cursor-agent"],
        traces: &[Place::Home(".cursor")],
        // In the user's settings it would be the home directory, which contains `.cursor/mcp.json`.
        root: DefaultRoot::ProjectVariable("${workspaceFolder}"),
        command: None,
        user: &[file(&[Place::Home(".cursor/mcp.json")], Format::Json, &[MCP_SERVERS])],
        project: &[file(&[Place::Project(".cursor/mcp.json")], Format::Json, &[MCP_SERVERS])],
        http: HttpSupport::Entry(&[
            ("url", Member::Url),
            ("headers", Member::Authorization("Bearer ${env:RECTO_TOKEN}")),
        ]),
        source: "https://cursor.com/docs/mcp",
    },
    Client {
        name: "vscode",
        title: "VS Code",
        programs: &["code"],
        traces: &[Place::Application("Code/User")],
        root: DefaultRoot::Variable("${workspaceFolder}"),
        command: None,
        user: &[file(&[Place::Application("Code/User/mcp.json")], Format::Json, VSCODE)],
        project: &[file(&[Place::Project(".vscode/mcp.json")], Format::Json, VSCODE)],
        http: HttpSupport::Entry(&[
            ("type", Member::Text("http")),
            ("url", Member::Url),
            ("headers", Member::Authorization("Bearer ${env:RECTO_TOKEN}")),
        ]),
        source: "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
    },
    Client {
        name: "zed",
        title: "Zed",
        programs: &["zed", "zeditor"],
        traces: &[Place::Config("zed")],
        root: DefaultRoot::Fixed,
        command: None,
        user: &[file(
            &[Place::Config("zed/settings.json")],
            Format::Json,
            &[
                server(&["context_servers", "recto"]),
                EntryKind {
                    path: &["agent_servers", AGENT],
                    form: Form::Agent(&[("type", Member::Text("custom"))]),
                },
            ],
        )],
        project: &[file(
            &[Place::Project(".zed/settings.json")],
            Format::Json,
            &[server(&["context_servers", "recto"])],
        )],
        http: HttpSupport::No("Zed does not replace environment variables in headers"),
        source: "https://zed.dev/docs/ai/mcp",
    },
    Client {
        name: "gemini-cli",
        title: "Gemini CLI",
        programs: &["gemini"],
        traces: &[Place::Variable("GEMINI_CLI_HOME", "", ".gemini")],
        root: DefaultRoot::WorkingDirectory,
        command: Some(OwnCommand {
            add: &["gemini", "mcp", "add", "--scope", "SCOPE", "recto", "COMMAND"],
            remove: None,
            has_project: true,
        }),
        user: &[file(
            &[Place::Variable("GEMINI_CLI_HOME", "", ".gemini/settings.json")],
            Format::Json,
            &[MCP_SERVERS],
        )],
        project: &[file(&[Place::Project(".gemini/settings.json")], Format::Json, &[MCP_SERVERS])],
        http: HttpSupport::Entry(&[
            ("httpUrl", Member::Url),
            ("headers", Member::Authorization("Bearer $RECTO_TOKEN")),
        ]),
        source: "https://geminicli.com/docs/tools/mcp-server/",
    },
    Client {
        name: "qwen-code",
        title: "Qwen Code",
        programs: &["qwen"],
        traces: &[Place::Home(".qwen")],
        root: DefaultRoot::WorkingDirectory,
        command: Some(OwnCommand {
            add: &["qwen", "mcp", "add", "--scope", "SCOPE", "recto", "COMMAND"],
            remove: None,
            has_project: true,
        }),
        user: &[file(&[Place::Home(".qwen/settings.json")], Format::Json, QWEN)],
        project: &[file(&[Place::Project(".qwen/settings.json")], Format::Json, QWEN)],
        http: HttpSupport::Entry(&[
            ("httpUrl", Member::Url),
            ("headers", Member::Authorization("Bearer $RECTO_TOKEN")),
            ("alwaysLoadTools", Member::Flag(true)),
        ]),
        source: "https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/",
    },
    Client {
        name: "opencode",
        title: "opencode",
        programs: &["opencode"],
        traces: &[Place::Config("opencode")],
        root: DefaultRoot::WorkingDirectory,
        command: None,
        user: &[file(
            &[Place::Config("opencode/opencode.jsonc"), Place::Config("opencode/opencode.json")],
            Format::Json,
            OPENCODE,
        )],
        project: &[file(
            &[Place::Project("opencode.jsonc"), Place::Project("opencode.json")],
            Format::Json,
            OPENCODE,
        )],
        http: HttpSupport::Entry(&[
            ("type", Member::Text("remote")),
            ("url", Member::Url),
            ("headers", Member::Authorization("Bearer {env:RECTO_TOKEN}")),
            // Otherwise a rejected token begins a login.
            ("oauth", Member::Flag(false)),
        ]),
        source: "https://opencode.ai/docs/mcp-servers/",
    },
    Client {
        name: "copilot-cli",
        title: "Copilot CLI",
        programs: &["copilot"],
        traces: &[Place::Variable("COPILOT_HOME", ".copilot", "")],
        root: DefaultRoot::WorkingDirectory,
        command: Some(OwnCommand {
            add: &["copilot", "mcp", "add", "recto", "--", "COMMAND"],
            remove: None,
            has_project: false,
        }),
        user: &[file(
            &[Place::Variable("COPILOT_HOME", ".copilot", "mcp-config.json")],
            Format::Json,
            COPILOT,
        )],
        project: &[file(&[Place::Project(".github/mcp.json")], Format::Json, COPILOT)],
        http: HttpSupport::No(
            "Copilot CLI documents variables for the environment of a program, not for headers",
        ),
        source: "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
    },
    Client {
        name: "goose",
        title: "Goose",
        programs: &["goose"],
        traces: &[Place::Config("goose")],
        root: DefaultRoot::WorkingDirectory,
        command: None,
        user: &[file(
            &[Place::Config("goose/config.yaml")],
            Format::YamlMap,
            &[EntryKind { path: &["extensions", "recto"], form: Form::Goose }],
        )],
        project: &[],
        http: HttpSupport::Entry(&[
            ("enabled", Member::Flag(true)),
            ("type", Member::Text("streamable_http")),
            ("name", Member::Text("recto")),
            ("description", Member::Text("Reads, searches and edits files")),
            ("uri", Member::Url),
            ("env_keys", Member::List(&[TOKEN_VARIABLE])),
            ("headers", Member::Authorization("Bearer ${RECTO_TOKEN}")),
            ("timeout", Member::Number(60)),
        ]),
        source: "https://block.github.io/goose/docs/guides/config-files",
    },
    Client {
        name: "continue",
        title: "Continue",
        programs: &["cn"],
        traces: &[Place::Variable("CONTINUE_GLOBAL_DIR", ".continue", "")],
        root: DefaultRoot::WorkingDirectory,
        command: None,
        user: &[ConfigFile {
            // `cn` reads only the first.
            places: &[
                Place::Variable("CONTINUE_GLOBAL_DIR", ".continue", "config.yaml"),
                Place::Variable("CONTINUE_GLOBAL_DIR", ".continue", "mcpServers/recto.yaml"),
            ],
            format: Format::YamlList,
            seed: CONTINUE_SEED,
            entries: CONTINUE,
        }],
        project: &[ConfigFile {
            places: &[Place::Project(".continue/mcpServers/recto.yaml")],
            format: Format::YamlList,
            seed: CONTINUE_SEED,
            entries: CONTINUE,
        }],
        http: HttpSupport::Entry(&[
            ("name", Member::Text("recto")),
            ("type", Member::Text("streamable-http")),
            ("url", Member::Url),
            ("requestOptions", Member::RequestOptions("Bearer ${{ secrets.RECTO_TOKEN }}")),
        ]),
        source: "https://docs.continue.dev/customize/deep-dives/mcp",
    },
    Client {
        name: "cline",
        title: "Cline",
        programs: &["cline"],
        traces: &[
            Place::Home(".cline"),
            Place::Application("Code/User/globalStorage/saoudrizwan.claude-dev"),
        ],
        root: DefaultRoot::Fixed,
        command: None,
        user: &[file(
            &[
                Place::File("CLINE_MCP_SETTINGS_PATH"),
                Place::Application(
                    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                ),
                Place::Home(".cline/data/settings/cline_mcp_settings.json"),
            ],
            Format::Json,
            &[EntryKind {
                path: &["mcpServers", "recto"],
                form: Form::Server(&[("disabled", Member::Flag(false))]),
            }],
        )],
        project: &[],
        http: HttpSupport::No("Cline does not replace environment variables in headers"),
        source: "https://docs.cline.bot/mcp/mcp-overview",
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        programs: &["windsurf"],
        traces: &[Place::Home(".codeium/windsurf")],
        root: DefaultRoot::Fixed,
        command: None,
        user: &[file(
            &[Place::Home(".codeium/windsurf/mcp_config.json")],
            Format::Json,
            &[MCP_SERVERS],
        )],
        project: &[],
        http: HttpSupport::Entry(&[
            ("serverUrl", Member::Url),
            ("headers", Member::Authorization("Bearer ${env:RECTO_TOKEN}")),
        ]),
        source: "https://docs.windsurf.com/windsurf/cascade/mcp",
    },
    Client {
        name: "jetbrains",
        title: "JetBrains IDEs",
        programs: &["idea", "pycharm", "webstorm", "goland", "clion", "rustrover"],
        traces: &[Place::Home(".jetbrains"), Place::Application("JetBrains")],
        root: DefaultRoot::WorkingDirectory,
        command: None,
        user: &[file(
            &[Place::Home(".jetbrains/acp.json")],
            Format::Json,
            &[EntryKind {
                path: &["agent_servers", AGENT],
                form: Form::Agent(&[("env", Member::NoPairs)]),
            }],
        )],
        project: &[],
        http: HttpSupport::No("recto is added as an ACP agent, which the IDE starts"),
        source: "https://www.jetbrains.com/help/ai-assistant/acp.html",
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        programs: &["claude-desktop"],
        traces: &[Place::Application("Claude")],
        root: DefaultRoot::Fixed,
        command: None,
        user: &[file(
            &[Place::Application("Claude/claude_desktop_config.json")],
            Format::Json,
            &[MCP_SERVERS],
        )],
        project: &[],
        http: HttpSupport::No("its settings file has no servers over HTTP"),
        source: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
    },
];

/// Finds a client by name.
pub fn find(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}
