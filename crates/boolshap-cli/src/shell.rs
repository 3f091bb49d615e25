//! `boolshap completions` and `boolshap man`: the command line described for shells and for `man`.

use crate::terminal::print;
use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

/// Print the completions of a shell
///
/// For bash: boolshap completions bash > ~/.local/share/bash-completion/completions/boolshap
#[derive(Args)]
pub(crate) struct Completions {
    /// Which shell
    #[arg(value_enum)]
    shell: KnownShell,
}

#[derive(Clone, Copy, ValueEnum)]
enum KnownShell {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    pub(crate) fn run(&self, mut command: Command) -> anyhow::Result<()> {
        let shell = match self.shell {
            KnownShell::Bash => Shell::Bash,
            KnownShell::Zsh => Shell::Zsh,
            KnownShell::Fish => Shell::Fish,
        };
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "boolshap", &mut text);
        Ok(print(String::from_utf8(text)?.trim_end())?)
    }
}

/// Print the manual page, or that of one command
///
/// To read it: boolshap man | man -l -
#[derive(Args)]
pub(crate) struct Man {
    /// The command
    command: Option<String>,
}

impl Man {
    pub(crate) fn run(&self, mut all: Command) -> anyhow::Result<()> {
        all.build();
        let page = match &self.command {
            None => all,
            Some(name) => match all.find_subcommand(name) {
                Some(command) => command.clone(),
                None => return crate::terminal::usage(format!("there is no command '{name}'")),
            },
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text)?;
        Ok(print(String::from_utf8(text)?.trim_end())?)
    }
}
