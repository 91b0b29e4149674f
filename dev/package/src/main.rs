//! Writes recto's man pages and shell completions to the directory that is passed.

use std::path::PathBuf;

use clap_complete::Shell;

fn main() -> std::io::Result<()> {
    let dir = PathBuf::from(std::env::args_os().nth(1).expect("usage: recto-package DIR"));
    let [man, completions] = ["man", "completions"].map(|name| dir.join(name));
    std::fs::create_dir_all(&man)?;
    std::fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(recto::cli::command(), man)?;
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        clap_complete::generate_to(shell, &mut recto::cli::command(), "recto", &completions)?;
    }
    Ok(())
}
