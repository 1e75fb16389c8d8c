//! One file per command: what can be typed, and what is done about it.
