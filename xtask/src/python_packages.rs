//! Packages of Python that a check needs, in a folder of their own below `target/`.
//!
//! They are installed by pip as it is set up on this machine, once for each change of what is required.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::check::{self, CheckStep, repo_root, target};

/// A check that is a Python script, and what it needs.
#[derive(Debug, Clone, Copy)]
pub struct PythonCheck {
    /// Its name, as printed.
    pub name: &'static str,
    /// Path to the folder of `check.py` and `requirements.txt`, from the root.
    pub folder: &'static str,
    /// The folder below `target/` that the packages are installed in.
    pub installed: &'static str,
    /// Arguments of pip beside `requirements.txt`.
    pub pip: &'static [&'static str],
}

impl PythonCheck {
    /// Installs the packages, if these are not the ones that are there.
    ///
    /// # Errors
    ///
    /// If they can't be installed.
    pub fn install(self) -> Result<()> {
        let requirements = self.file("requirements.txt");
        let wanted = fs::read_to_string(&requirements).context("can't read the requirements")?;
        // Written last: a folder without it is not whole.
        let stamp = self.home().join("installed.txt");
        let python = self.python();
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) && python.is_file() {
            return Ok(());
        }
        check::succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(self.home()))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        check::succeed(Command::new(python).args(pip).args(self.pip).arg("--requirement").arg(&requirements))
            .with_context(|| format!("can't install what {}/requirements.txt lists", self.folder))?;
        fs::write(&stamp, wanted).with_context(|| format!("can't write `{}`", stamp.display()))
    }

    /// The step that runs `check.py`.
    pub fn step(self) -> CheckStep {
        // It must leave nothing behind beside the script.
        let args = vec!["-B".into(), self.file("check.py").into_os_string()];
        CheckStep::program(self.name, self.python().into_os_string(), args)
    }

    fn file(self, name: &str) -> PathBuf {
        repo_root().join(self.folder).join(name)
    }

    fn home(self) -> PathBuf {
        target().join(self.installed)
    }

    fn python(self) -> PathBuf {
        self.home().join("bin").join("python")
    }
}

/// Returns true if the system's Python can make a folder of packages of its own.
pub fn can_install() -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", "import ensurepip, venv"]).stderr(Stdio::null());
    python.status().is_ok_and(|status| status.success())
}
