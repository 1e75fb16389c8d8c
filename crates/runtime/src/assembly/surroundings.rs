//! The part of the process and its machine that counts for a run, as a value: the program reads it once, and nothing
//! below reads it again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::gate::secrets::SecretSet;
use adjutant_host::environment;
use adjutant_host::http::{BadProxy, Proxies};
use adjutant_store::keys::Keys;

/// The variables of the environment. There is no `Debug`, so that a key in one of them can't be shown by accident.
#[derive(Clone, Default)]
pub struct Environment(Arc<[(OsString, OsString)]>);

/// The environment and the folders of the process that puts a run together.
#[derive(Clone)]
pub struct Surroundings {
    /// Its variables.
    pub environment: Environment,
    /// The folder that relative paths are relative to.
    pub folder: PathBuf,
    /// The operator's home folder, if it is known: paths below it are shown with `~`.
    pub home_folder: Option<PathBuf>,
}

impl Environment {
    /// An environment with these variables.
    #[must_use]
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self(variables.into_iter().collect())
    }

    /// All variables, for what is started with some of them.
    pub fn all(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.0.iter().cloned()
    }

    /// A variable without the white space that copying brings along; `None` if nothing is left.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let (_, value) = self.0.iter().find(|(other, _)| other == name)?;
        Some(value.to_str()?.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The proxies that it names, for the APIs of models.
    ///
    /// # Errors
    ///
    /// If one of them can't be used.
    pub fn proxies(&self) -> Result<Proxies, BadProxy> {
        Proxies::from_variables(|name| self.variable(name))
    }

    /// The runtime's own secrets, to be masked wherever they turn up: those of the environment, of the key file, and
    /// the passwords of proxies.
    #[must_use]
    pub fn secrets(&self, keys: &Keys) -> SecretSet {
        // A variable that is no text can't be looked for in text.
        let own = self.all().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let own = environment::secrets(own).into_iter();
        // A proxy that can't be used is said where it is needed; a password in its address has a known shape.
        let proxies = self.proxies().map_or_else(|_| Vec::new(), |proxies| proxies.passwords());
        own.chain(keys.values().map(str::to_owned)).chain(proxies).collect()
    }
}

impl Surroundings {
    /// A path as it is shown: below the home folder with `~`.
    #[must_use]
    pub fn shown(&self, path: &Path) -> PathBuf {
        match self.home_folder.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => Path::new("~").join(below),
            None => path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::new(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn a_variable_is_read_without_what_copying_brings_along() {
        let environment = environment(&[("A", " x\n"), ("B", "  "), ("A", "y")]);
        assert_eq!(environment.variable("A").as_deref(), Some("x"));
        assert_eq!(environment.variable("B"), None);
        assert_eq!(environment.variable("C"), None);
    }

    #[test]
    fn keys_and_passwords_of_proxies_are_secrets() {
        let environment = environment(&[
            ("ANTHROPIC_API_KEY", "a-long-enough-value-1"),
            ("https_proxy", "http://me:another-value-2@proxy.example"),
            ("EDITOR", "a-long-enough-editor"),
        ]);
        let keys = Keys::default().with(["of-a-configuration-3".to_owned()]);
        let text = "a-long-enough-value-1 another-value-2 of-a-configuration-3 a-long-enough-editor";
        let masked = environment.secrets(&keys).mask(text).into_owned();
        for secret in ["value-1", "value-2", "configuration-3"] {
            assert!(!masked.contains(secret), "{masked}");
        }
        assert!(masked.contains("a-long-enough-editor"), "{masked}");
    }

    #[test]
    fn a_path_below_the_home_folder_is_shown_short() {
        let home_folder = Some(PathBuf::from("/home/me"));
        let surroundings = Surroundings { environment: Environment::default(), folder: "/".into(), home_folder };
        assert_eq!(surroundings.shown(Path::new("/home/me/a")), Path::new("~/a"));
        assert_eq!(surroundings.shown(Path::new("/home/men/a")), Path::new("/home/men/a"));
    }
}
