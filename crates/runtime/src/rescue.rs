//! Puts a rescue on record.

use adjutant_core::trace::{Body, CallEvent, Entry};
use adjutant_core::words::{Key, RescueKind};
use adjutant_ports::Rescued;

/// The part that a session alone in its run has: rescues of its calls need no other name.
const ALONE: &str = "session";

/// The name of the rescue before the call `key`: `call-3.1`, in a part of a larger run `crew.2.1.call-3.1`.
pub(crate) fn name(key: &Key) -> String {
    let slot = key.slot.to_string().replace('/', "-");
    match key.part.as_str() {
        "" | ALONE => slot,
        part => format!("{}.{slot}", part.replace('/', ".")),
    }
}

/// The event for what came of keeping; none if there was nothing to keep.
pub(crate) fn made(key: &Key, rescued: &Result<Option<Rescued>, String>) -> Option<Entry> {
    let slot = key.slot;
    let body = match rescued {
        Ok(None) => return None,
        Ok(Some(rescued)) => Body::Call(CallEvent::RescueMade {
            slot,
            kind: match (&rescued.reference, rescued.files) {
                (Some(_), _) => RescueKind::Git,
                (None, 0) => RescueKind::None,
                (None, _) => RescueKind::Copy,
            },
            rescue: Some(name(key)),
            reference: rescued.reference.clone(),
            path: Some(rescued.folder.display().to_string()),
            files: rescued.files,
            bytes: rescued.bytes,
            left_out: rescued.left_out,
            error: None,
        }),
        Err(why) => Body::Call(CallEvent::RescueMade {
            slot,
            kind: RescueKind::None,
            rescue: None,
            reference: None,
            path: None,
            files: 0,
            bytes: 0,
            left_out: 0,
            error: Some(why.clone()),
        }),
    };
    Some(Entry { part: key.part.clone(), body })
}
