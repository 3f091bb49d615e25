//! What each stage of a compilation did and how long it took; with several classes, class by class.

use crate::lit::{Instant, thousands};
use serde_json::{Map, Value};

/// The stages done so far.
#[derive(Debug, Clone, Default)]
pub struct Stages {
    done: Vec<(usize, &'static str, Value)>,
    pub(super) class: usize,
}

impl Stages {
    pub(super) fn add(&mut self, name: &'static str, start: Instant, mut facts: Value) {
        facts["seconds"] = start.elapsed().as_secs_f64().into();
        self.done.push((self.class, name, facts));
    }

    /// The stages as lines to read.
    pub fn lines(&self) -> Vec<String> {
        let class = |class: usize| if self.class > 0 { format!("class {class}, ") } else { String::new() };
        self.done.iter().map(|(of, name, facts)| format!("{}{name}: {}", class(*of), facts_text(facts))).collect()
    }

    /// The stages by name, with the numbers of several classes added up.
    pub fn totals(&self) -> Value {
        let mut totals = Map::new();
        for (_, name, facts) in &self.done {
            match totals.get_mut(*name) {
                None => drop(totals.insert((*name).into(), facts.clone())),
                Some(total) => add_up(total, facts),
            }
        }
        totals.into()
    }

    /// The stages by name, for each class.
    pub fn of_classes(&self, classes: usize) -> Vec<Map<String, Value>> {
        let of = |class: usize| -> Map<String, Value> {
            let own = self.done.iter().filter(|(of, ..)| *of == class);
            own.map(|(_, name, facts)| ((*name).to_string(), facts.clone())).collect()
        };
        (0..classes).map(of).collect()
    }
}

/// Adds numbers of the same name; other facts stay only if all have them in common.
fn add_up(total: &mut Value, facts: &Value) {
    let Value::Object(total) = total else { return };
    total.retain(|name, value| value.is_number() || *value == facts[name]);
    for (name, value) in total.iter_mut() {
        *value = match (value.as_u64(), facts[name].as_u64()) {
            (Some(a), Some(b)) => (a + b).into(),
            _ => match (value.as_f64(), facts[name].as_f64()) {
                (Some(a), Some(b)) => (a + b).into(),
                _ => continue,
            },
        };
    }
}

fn facts_text(facts: &Value) -> String {
    let number = |value: &Value| match value.as_u64() {
        Some(whole) => thousands(whole),
        None => format!("{:.3}", value.as_f64().unwrap_or(f64::NAN)),
    };
    // The reason for a route is a separate note.
    let object = facts.as_object().into_iter().flatten().filter(|(name, value)| value.is_number() || *name == "method");
    // The time comes last, not in alphabetical order.
    let (time, rest): (Vec<_>, Vec<_>) = object.partition(|(name, _)| *name == "seconds");
    let texts = rest.into_iter().chain(time).map(|(name, value)| match name.as_str() {
        "seconds" => format!("{} s", number(value)),
        "size" => format!("size {}", number(value)),
        "method" => value.as_str().unwrap_or_default().to_string(),
        name if value.as_u64() == Some(1) => format!("1 {}", name.trim_end_matches('s').replace('_', " ")),
        name => format!("{} {}", number(value), name.replace('_', " ")),
    });
    texts.collect::<Vec<_>>().join(", ")
}
