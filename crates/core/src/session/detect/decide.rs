//! The detectors from the shell: JSON in, JSON out.

use serde::Deserialize;
use serde_json::Value;

use super::{Detector, Sensitivities, Sensitivity, read};
use crate::gate::Category;

#[derive(Deserialize)]
struct Input {
    text: String,
    #[serde(default)]
    authorized_costs: Vec<Category>,
    #[serde(default)]
    sensitivities: serde_json::Map<String, Value>,
}

/// Reads `{text, authorized_costs?, sensitivities?}` and gives what each detector saw, by its name, and
/// the `consultations`.
///
/// # Errors
///
/// A sentence that names what is missing, mistyped or unknown in the input.
pub fn decide(input: &Value) -> Result<Value, String> {
    let input = Input::deserialize(input).map_err(|error| format!("can't read the turn: {error}"))?;
    let mut sensitivities = Sensitivities::default();
    for (name, value) in &input.sensitivities {
        let detector: Detector = name.parse().map_err(|error| format!("{error}"))?;
        let value =
            value.as_str().ok_or_else(|| format!("the sensitivity of `{name}` must be a string, not `{value}`"))?;
        let sensitivity: Sensitivity = value.parse().map_err(|error| format!("{error}"))?;
        sensitivities = sensitivities.with(detector, sensitivity);
    }
    let reading = read(&input.text, &input.authorized_costs, &sensitivities);
    serde_json::to_value(reading).map_err(|error| format!("can't write the reading: {error}"))
}
