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
    /// The variable of the environment that its key comes from; `None` if it needs no key.
    pub key_variable: Option<&'static str>,
}

/// The adapters of this build, in the order they are shown. What is not built is not listed.
#[must_use]
pub fn adapters() -> Vec<Adapter> {
    vec![
        Adapter {
            id: crate::scripted::ADAPTER_ID,
            name: "Scripted agent",
            about: "plays the turns of a script file; no model, no key, no cost",
            // Without a script file it plays the built-in script, so nothing can be missing.
            key_variable: None,
        },
        Adapter {
            id: crate::anthropic::ADAPTER_ID,
            name: "Anthropic",
            about: "models of Anthropic over the Messages API; every turn is charged to the key",
            key_variable: Some(crate::anthropic::KEY_VARIABLE),
        },
    ]
}
