//! The terminal while a command runs: notes, errors, results, Ctrl-C and other signals.

pub(crate) use crate::progress::{with_progress, with_timeout};
use boolshap::data::{DataError, MARKERS, Note, check_outputs, is_standard_output, remove_unfinished_files};
pub(crate) use boolshap::lit::thousands;
use boolshap::lit::{ColumnRemedy, Remedy, Watch};
use boolshap::workflow::{Error, ErrorKind, ModelOutput, Outlook, ReadyCircuit, Wait, ready_circuit, ready_to_explain};
use boolshap::{NamedCircuit, Request};
use std::fmt;
use std::future::poll_fn;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whether the work was asked to stop.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);
/// The exit code after the first signal, 128 plus its number; 0 before it.
static SIGNAL_CODE: AtomicI32 = AtomicI32::new(0);
/// Whether neither progress nor notes are wanted.
static QUIET: AtomicBool = AtomicBool::new(false);
static STDOUT_IS_FILE: AtomicBool = AtomicBool::new(false);

/// How long work may take to stop by itself after it was asked to.
const GRACE: Duration = Duration::from_millis(400);

/// The first signal that ends programs, Ctrl-C or another, asks the work to stop, and soon after ends the program if
/// the work goes on, for example in a library or while reading a pipe. The second signal ends it at once. After the
/// first signal no file gets its name. A server handles SIGTERM itself.
#[expect(clippy::exit, reason = "the thread that works cannot be asked any more")]
pub(crate) fn catch_signals(is_server: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _inside = runtime.enter();
        // Once SIGXFSZ is caught, writing more than `ulimit -f` allows is an error instead of the end of the program.
        drop(signal(SignalKind::from_raw(libc::SIGXFSZ))?);
        let xcpu = SignalKind::from_raw(libc::SIGXCPU);
        let kinds = [SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit(), SignalKind::terminate(), xcpu];
        let is_anothers = |kind: SignalKind| is_ignored(kind) || is_server && kind == SignalKind::terminate();
        let ours = kinds.into_iter().filter(|kind| !is_anothers(*kind));
        ours.map(|kind| Ok((kind.as_raw_value(), signal(kind)?))).collect::<io::Result<Vec<_>>>()?
    };
    std::thread::spawn(move || {
        loop {
            let number = runtime.block_on(poll_fn(|context| next_signal(&mut signals, context)));
            let code = 128 + number;
            if SIGNAL_CODE.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                std::process::exit(SIGNAL_CODE.load(Ordering::Relaxed));
            }
            STOP.store(true, Ordering::Relaxed);
            remove_unfinished_files();
            // Wait in another thread: this one must receive the second signal.
            std::thread::spawn(move || {
                std::thread::sleep(GRACE);
                std::process::exit(code);
            });
        }
    });
    Ok(())
}

fn next_signal(signals: &mut [(i32, Signal)], context: &mut Context<'_>) -> Poll<i32> {
    // Poll all of them, so that each can wake this thread.
    let came: Vec<i32> = signals
        .iter_mut()
        .filter_map(|(number, signal)| signal.poll_recv(context).is_ready().then_some(*number))
        .collect();
    came.first().map_or(Poll::Pending, |number| Poll::Ready(*number))
}

/// Whether the program was started to ignore a signal, as by `nohup`. Ctrl-C is never ignored.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
    kind != SignalKind::interrupt() && mask >> (kind.as_raw_value() - 1) & 1 == 1
}

/// How far work got before the time or memory limit, if it reported progress; errors of other limits say it themselves.
pub(crate) fn how_far(error: &anyhow::Error) -> String {
    let limits = ["the time limit of", "the memory limit is reached"];
    let is_limit = error.chain().any(|cause| limits.iter().any(|limit| cause.to_string().contains(limit)));
    let far = is_limit.then(crate::progress::how_far).flatten();
    far.map_or(String::new(), |far| format!(" ({far})"))
}

/// The exit code after a signal, even if an error follows: the signal caused it.
pub(crate) fn signal_code() -> Option<u8> {
    u8::try_from(SIGNAL_CODE.load(Ordering::Relaxed)).ok().filter(|code| *code > 0)
}

pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Turns off progress and notes.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a note to standard error.
pub(crate) fn note(text: &str) {
    if is_quiet() {
        return;
    }
    // A closed standard error is no reason to fail.
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// Prints a result; if standard output is the output file, prints to standard error instead.
pub(crate) fn print(text: &str) -> io::Result<()> {
    if STDOUT_IS_FILE.load(Ordering::Relaxed) {
        return writeln!(io::stderr().lock(), "{text}");
    }
    writeln!(io::stdout().lock(), "{text}")
}

/// Prints a result as JSON.
pub(crate) fn print_json(value: &serde_json::Value) -> io::Result<()> {
    print(&value.to_string())
}

/// `-` as the name of an input means standard input.
pub(crate) fn input_path(path: &Path) -> PathBuf {
    if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path }.to_path_buf()
}

/// The paths of outputs, none of which may be an input. `-` means standard output, which then carries nothing else,
/// under any of its names.
pub(crate) fn output_paths<const N: usize>(outputs: [&Path; N], inputs: &[&Path]) -> anyhow::Result<[PathBuf; N]> {
    let paths = outputs.map(|path| if path.as_os_str() == "-" { Path::new("/dev/stdout") } else { path }.to_path_buf());
    let inputs: Vec<PathBuf> = inputs.iter().map(|path| input_path(path)).collect();
    check_outputs(&paths.each_ref().map(PathBuf::as_path), &inputs.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    if paths.iter().any(|path| is_standard_output(path)) {
        STDOUT_IS_FILE.store(true, Ordering::Relaxed);
    }
    Ok(paths)
}

/// The path of the only output.
pub(crate) fn output_path(output: &Path, inputs: &[&Path]) -> anyhow::Result<PathBuf> {
    output_paths([output], inputs).map(|[path]| path)
}

/// A command line that asks for something impossible: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Ends a command with [`Usage`].
pub(crate) fn usage<T>(message: impl Into<String>) -> anyhow::Result<T> {
    Err(Usage(message.into()).into())
}

/// Whether an error is one of usage: exit code 2.
pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    let of_library = |error: &Error| error.kind() == ErrorKind::Request;
    error.is::<Usage>() || error.downcast_ref::<Error>().is_some_and(of_library)
}

/// An error of the library in terms of the command line: settings become flags, and a remedy names the flag to use.
fn in_flags(error: &Error) -> String {
    match error {
        Error::Setting { setting, message, .. } => format!("--{} {message}", setting.replace('_', "-")),
        Error::At { place, source } => format!("{place}: {}", in_flags(source)),
        other => other.to_string(),
    }
}

pub(crate) fn remedy_text(remedy: &Remedy) -> String {
    match remedy {
        Remedy::ZeroWeight => "choose one with --zero-weight +1 or -1".into(),
        Remedy::BnEpsilon => "pass it with --bn-epsilon".into(),
        Remedy::InputValues => "say it with --inputs bits, --inputs signs or --inputs UINT2 and the like".into(),
        Remedy::Class => "say which one with --class".into(),
        Remedy::Variables => "pass --variables".into(),
        Remedy::Nodes => "raise --max-nodes".into(),
        Remedy::FewerPlayers => "use --players columns, or name larger players in a file".into(),
        Remedy::FewerPlayersOrBackground => {
            "use --players columns, name larger players in a file, or use --distribution background".into()
        }
        Remedy::Probabilities => "use --distribution product:FILE".into(),
        Remedy::Columns(said) => column_flags(said),
        Remedy::Input => "say which with --input raw or --input bits".into(),
        Remedy::SmallerNetwork { neurons } => {
            let hidden = neurons.map_or("--hidden".into(), |neurons| format!("--hidden {neurons}"));
            format!("train with fewer neurons ({hidden}) or fewer columns (--ignore)")
        }
        Remedy::CompileFirst => {
            "compile it with `boolshap compile MODEL -o CIRCUIT` and give the circuit, or train with fewer neurons \
             (--hidden) or fewer columns (--ignore)"
                .into()
        }
        Remedy::Grid => "import or train the network with --grid HEIGHTxWIDTH".into(),
        Remedy::SmallerBackground => "use fewer background rows, or --players columns".into(),
        Remedy::ExactEngine => "leave --engine out, or use paper or brute-force".into(),
        _ => String::new(),
    }
}

/// The circuit of a file, or of a model that is compiled first, with notes about it. A network that would take long to
/// compile stays uncompiled.
pub(crate) fn ready_explained(path: &Path, output: ModelOutput) -> anyhow::Result<Arc<NamedCircuit>> {
    Ok(Arc::new(ready_source(path, output)?.circuit))
}

/// The same with the model, if the file holds one.
pub(crate) fn ready_source(path: &Path, output: ModelOutput) -> anyhow::Result<ReadyCircuit> {
    ready_by(|watch| ready_to_explain(path, output, watch))
}

/// A model to compare with another, and its name on a page.
pub(crate) fn second_model(path: &Path, request: &Request) -> anyhow::Result<(String, NamedCircuit)> {
    let circuit = ready_by(|watch| ready_circuit(path, request.model_output.unwrap_or_default(), watch))?.circuit;
    Ok((path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(), circuit))
}

fn ready_by(read: impl FnOnce(&Watch<'_>) -> Result<ReadyCircuit, Error> + Send) -> anyhow::Result<ReadyCircuit> {
    let ready = with_progress("reading", read)?;
    ready.notes.iter().for_each(|text| note(text));
    Ok(ready)
}

/// How long rows will take, and what can be done about it.
pub(crate) fn wait_text(wait: &Wait) -> String {
    match wait.is_long() {
        true => format!("{}: {}", wait.words(), remedy_text(&wait.remedy())),
        false => wait.words(),
    }
}

/// The expected cost of work, and what can be done about it if it is high.
pub(crate) fn outlook_text(outlook: &Outlook) -> String {
    match outlook.is_long() {
        true => format!("{}: {}", outlook.words(), remedy_text(&outlook.remedy())),
        false => outlook.words(),
    }
}

/// A remedy for columns, as flags to paste.
fn column_flags(ColumnRemedy { ignore, kinds, missing }: &ColumnRemedy) -> String {
    let (listed, alone): (Vec<&String>, Vec<&String>) = ignore.iter().partition(|name| !name.contains(','));
    let list = listed.into_iter().map(String::as_str).collect::<Vec<_>>().join(",");
    let lists = alone.into_iter().map(String::as_str).chain(Some(list.as_str()).filter(|list| !list.is_empty()));
    let ignored: Vec<String> = lists.map(|list| format!("--ignore {}", quoted(list))).collect();
    let kinds: Vec<String> =
        kinds.iter().map(|(name, kind)| format!("--column {}", quoted(&format!("{name}={kind}")))).collect();
    let markers = MARKERS.into_iter().chain(missing.iter().map(String::as_str)).collect::<Vec<_>>().join(",");
    let missing = (!missing.is_empty()).then(|| format!("--missing-values {}", quoted(&markers)));
    let ways = [ignored.join(" "), kinds.join(" "), missing.unwrap_or_default()];
    let ways: Vec<String> = ways.into_iter().filter(|way| !way.is_empty()).collect();
    match ignore.len() {
        0 | 1 => format!("say {}", ways.join(", or ")),
        _ => format!("say\n  {}", ways.join("\nor\n  ")),
    }
}

/// A word, quoted for a shell where needed.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.,=:/+".contains(letter);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Prints a note of the library, with the flags of its remedy.
pub(crate) fn note_with_flags(found: &Note) {
    match found.remedy.as_ref().map(remedy_text) {
        None => note(&found.text),
        Some(flags) => note(&format!("{}; {}", found.text, flags.replacen("say ", "change it with ", 1))),
    }
}

/// An error and its causes, without repetition.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    let own = error.downcast_ref::<Error>().map(|own| (in_flags(own), own.remedy()));
    let of_data = || error.downcast_ref::<DataError>().map(|own| (own.to_string(), own.remedy()));
    if let Some((said, remedy)) = own.or_else(of_data) {
        let remedy = remedy.map(|remedy| remedy_text(&remedy)).filter(|text| !text.is_empty());
        return remedy.map_or(said.clone(), |remedy| format!("{said}: {remedy}"));
    }
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// A time limit in seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is expected")?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_cause_is_told_once() {
        use anyhow::Context;
        let io = || std::io::Error::other("disk on fire");
        let error = Err::<(), _>(io()).context("m.json").unwrap_err();
        assert_eq!(super::message(&error), "m.json: disk on fire");
        let error = Err::<(), _>(io()).context("m.json: disk on fire").unwrap_err();
        assert_eq!(super::message(&error), "m.json: disk on fire");
    }
}
