//! Which adapters there are.

/// One kind of agent that can be spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// The word for it in a brief, such as `scripted`.
    pub id: &'static str,
    /// What a person calls it.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Whether it could take a turn now.
    pub configured: bool,
}

/// The adapters of this build, in the order they are shown. What is not built is not listed.
#[must_use]
pub fn adapters() -> Vec<Adapter> {
    vec![Adapter {
        id: crate::scripted::ADAPTER_ID,
        name: "Scripted agent",
        about: "plays the turns of a script file; no model, no key, no cost",
        // Without a script file it plays the built-in script, so nothing can be missing.
        configured: true,
    }]
}
