//! The detectors from the shell: JSON in, JSON out.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Detector, Sensitivities, Sensitivity, TurnReading, read};
use crate::words::Category;

#[derive(Deserialize)]
struct Input {
    text: String,
    authorized_costs: Option<Vec<Category>>,
    sensitivities: Option<Map<String, Value>>,
}

/// Reads `{text, authorized_costs?, sensitivities?}` and gives what each detector saw, by its name, and
/// the `consultations`.
///
/// `null` counts as absent. A detector that doesn't exist is ignored. A sensitivity that doesn't exist
/// reads as the default, and is among the consultations as it was given.
///
/// # Errors
///
/// A sentence that names what is missing or mistyped in the input.
pub fn decide(input: &Value) -> Result<Value, String> {
    let input = Input::deserialize(input).map_err(|error| format!("can't read the turn: {error}"))?;
    let given = input.sensitivities.unwrap_or_default();
    let given = |detector: Detector| given.get(detector.name()).filter(|value| !value.is_null());
    let known = |detector| given(detector)?.as_str()?.parse::<Sensitivity>().ok();
    let sensitivities: Sensitivities =
        Detector::ALL.into_iter().filter_map(|detector| Some((detector, known(detector)?))).collect();
    let reading = read(&input.text, &input.authorized_costs.unwrap_or_default(), &sensitivities);
    let consultations: Vec<Value> = Detector::ALL
        .into_iter()
        .filter_map(|detector| match known(detector) {
            Some(_) => consultation(&reading, detector),
            None => given(detector).map(|value| unknown_sensitivity(&reading, detector, value)),
        })
        .collect();
    let mut answer = serde_json::to_value(&reading).map_err(|error| format!("can't write the reading: {error}"))?;
    answer["consultations"] = Value::Array(consultations);
    Ok(answer)
}

fn consultation(reading: &TurnReading, detector: Detector) -> Option<Value> {
    reading.consultations.iter().find(|consultation| consultation.detector == detector).map(|found| json!(found))
}

fn unknown_sensitivity(reading: &TurnReading, detector: Detector, given: &Value) -> Value {
    json!({
        "detector": detector,
        "sensitivity": given,
        "fired": reading.has_fired(detector),
        "bypassed": false,
    })
}
