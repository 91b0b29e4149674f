"""Writes a wheel with the program for one architecture. See `wheel`, which sets the environment."""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

# The program for aarch64 is static.
TAGS = {
    "x86_64": "manylinux_2_17_x86_64",
    "aarch64": "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
}
# uvx runs the program that has the package's name.
LAUNCHER = """\
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/recto" "$@"
"""


def main():
    arch = sys.argv[1]
    out, version = Path(os.environ["out"]), os.environ["version"]
    share = out / "share"
    info, data = f"recto_mcp-{version}.dist-info", f"recto_mcp-{version}.data"
    tags = TAGS[arch]
    # The MCP registry looks for the name in the description.
    description = Path("README.md").read_text() + f"\n<!-- mcp-name: {os.environ['mcp_name']} -->\n"
    files = {
        f"{data}/scripts/recto": (out / "bin" / arch / "recto").read_bytes(),
        f"{data}/scripts/recto-mcp": LAUNCHER,
        f"{data}/data/share/bash-completion/completions/recto": share / "completions/recto.bash",
        f"{data}/data/share/fish/vendor_completions.d/recto.fish": share / "completions/recto.fish",
        f"{data}/data/share/zsh/site-functions/_recto": share / "completions/_recto",
        f"{info}/licenses/LICENSE-MIT": share / "LICENSE-MIT",
        f"{info}/licenses/LICENSE-APACHE": share / "LICENSE-APACHE",
        f"{info}/sboms/recto.cdx.json": share / "recto.cdx.json",
        f"{info}/METADATA": "\n".join([
            "Metadata-Version: 2.4",
            "Name: recto-mcp",
            f"Version: {version}",
            f"Summary: {os.environ['summary']}",
            "License-Expression: MIT OR Apache-2.0",
            "License-File: LICENSE-MIT",
            "License-File: LICENSE-APACHE",
            "Description-Content-Type: text/markdown",
            "",
            description,
        ]),
        f"{info}/WHEEL": "\n".join(
            ["Wheel-Version: 1.0", "Generator: recto", "Root-Is-Purelib: false"]
            + [f"Tag: py3-none-{tag}" for tag in tags.split(".")] + [""]
        ),
    }
    files |= {f"{data}/data/share/man/man1/{page.name}": page for page in sorted((share / "man").iterdir())}
    date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    record = ""
    with zipfile.ZipFile(out / f"recto_mcp-{version}-py3-none-{tags}.whl", "w") as wheel:

        def write(name, content):
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content, compresslevel=9)

        for name, content in files.items():
            if isinstance(content, Path):
                content = content.read_bytes()
            elif isinstance(content, str):
                content = content.encode()
            write(name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(content)}\n"
        write(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")


main()
