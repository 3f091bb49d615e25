//! The command line of boolshap: one file a command, thin wrappers around the library.
//!
//! Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 after
//! Ctrl-C, 128 + N after another signal N.

mod allocator;
mod ask;
mod bench;
mod check;
mod column_options;
mod compile;
mod convert;
mod demo;
mod encode;
mod explain;
mod first_rows;
mod game_options;
mod import;
mod info;
mod inspect;
mod memory;
mod predict;
mod progress;
mod raw;
mod report;
mod serve;
mod shell;
mod terminal;
mod train;
mod verify;
mod waterfall;

use clap::{CommandFactory, Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// Exact SHAP scores for neural networks, by compiling them into Boolean circuits.
#[derive(Parser)]
#[command(name = "boolshap", version, max_term_width = 110)]
struct Arguments {
    /// Threads to use (all cores by default)
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    /// Stop with an error when the program holds more memory than this, in GiB (seven eighths of the machine's by default)
    #[arg(long, global = true, value_name = "GIB", value_parser = memory::gibibytes)]
    max_memory: Option<u64>,
    /// Show no progress and no notes, only results and errors
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Inspect(inspect::Inspect),
    Train(train::Train),
    Import(import::Import),
    Encode(encode::Encode),
    Compile(compile::Compile),
    Info(info::Info),
    Verify(verify::Verify),
    Check(check::Check),
    Convert(convert::Convert),
    Predict(predict::Predict),
    Explain(explain::Explain),
    Ask(Box<ask::Ask>),
    Report(report::Report),
    Serve(serve::Serve),
    Bench(bench::Bench),
    Completions(shell::Completions),
    Man(shell::Man),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = run(&arguments);
    if let Some(code) = terminal::signal_code() {
        return ExitCode::from(code);
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed our output, as in `boolshap info m.json | head -1`: this is not an error.
        Err(error) if terminal::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "boolshap: {}{}", terminal::message(&error), terminal::how_far(&error));
            if terminal::is_usage(&error) { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.quiet {
        terminal::be_quiet();
    }
    terminal::catch_signals(matches!(arguments.command, Command::Serve(_)))?;
    memory::watch(arguments.max_memory);
    if let Some(threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global()?;
    }
    match &arguments.command {
        Command::Demo(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Train(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Encode(command) => command.run(),
        Command::Compile(command) => command.run(),
        Command::Convert(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Ask(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Serve(command) => command.run(memory::limit(arguments.max_memory)),
        Command::Bench(command) => command.run(),
        Command::Completions(command) => command.run(Arguments::command()),
        Command::Man(command) => command.run(Arguments::command()),
        Command::Predict(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Info(command) => command.run(),
    }
}
