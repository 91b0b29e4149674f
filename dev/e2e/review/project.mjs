// A small project, and two sessions that change it.
export const LINES = Array.from({ length: 30 }, (_, n) => `line ${n + 1}\n`).join("");

const SERVER = `//! Serves files.

use std::net::TcpListener;

/// Accepts connections until the process ends.
pub fn serve(address: &str) -> std::io::Result<()> {
    let listener = TcpListener::bind(address)?;
    for stream in listener.incoming() {
        let stream = stream?;
        println!("connected: {:?}", stream.peer_addr());
        handle(stream);
    }
    Ok(())
}

fn handle(stream: std::net::TcpStream) {
    let mut buffer = [0; 1024];
    let n = read(&stream, &mut buffer);
    // Nothing to do at the end of the stream.
    if n == 0 {
        return;
    }
    answer(&stream, &buffer[..n]);
}

fn read(stream: &std::net::TcpStream, buffer: &mut [u8]) -> usize {
    use std::io::Read;
    let mut stream = stream;
    stream.read(buffer).unwrap_or(0)
}

fn answer(stream: &std::net::TcpStream, bytes: &[u8]) {
    use std::io::Write;
    let mut stream = stream;
    let _ = stream.write_all(bytes);
}
`;

export const PROJECT = {
  "src/server.rs": SERVER,
  "src/config.py": "import os\n\nDEBUG = False\nTIMEOUT = 30\n\ndef load(path):\n    with open(path) as f:\n        return f.read()\n",
  "README.md": "# Example\n\nA small server.\n\n## Use\n\nRun it.\n",
  "data/people.csv": "name,age,city\nAda,36,London\nAlan,41,Manchester\n",
};

/** Makes the changes of two sessions. */
export async function example(scene) {
  for (const [name, text] of Object.entries(PROJECT)) scene.write(name, text);
  const claude = await scene.client("claude-code", "2.1.0");
  await claude.edit("src/server.rs",
    '        println!("connected: {:?}", stream.peer_addr());\n        handle(stream);',
    '        tracing::info!(peer = ?stream.peer_addr(), "connected");\n        std::thread::spawn(move || handle(stream));');
  await claude.edit("src/server.rs", "let mut buffer = [0; 1024];", "let mut buffer = [0; 64 * 1024];");
  await claude.edit("src/server.rs", "    stream.read(buffer).unwrap_or(0)",
    '    match stream.read(buffer) {\n        Ok(n) => n,\n        Err(error) => {\n            tracing::warn!(%error, "cannot read");\n            0\n        }\n    }');
  await claude.edit("src/config.py", "TIMEOUT = 30\n", "TIMEOUT = 60  # seconds\n");
  await claude.create("src/limits.rs", "//! Limits.\n\npub const MAX: usize = 64;\n");
  await claude.edit("data/people.csv", "Alan,41,Manchester\n", "Alan,41,Manchester\nGrace,85,Arlington\n");
  const codex = await scene.client("codex", "0.166.0");
  await codex.edit("README.md", "Run it.\n", "Run `serve 8080`.  \n");
  await codex.edit("src/server.rs", "//! Serves files.\n", "//! Serves files over TCP.\n");
  await claude.end();
  await codex.end();
}
