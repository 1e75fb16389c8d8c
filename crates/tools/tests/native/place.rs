//! A workdir with tools, beside a folder that must stay as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::words::tool::{FileChange, ToolCall, ToolOutput};
use adjutant_host::http::Hosts;
use adjutant_host::sandbox::{Mode, Places, Sandbox, Settings};
use adjutant_ports::{CancellationToken, Prepared, Settled, Tools};
use adjutant_tools::{NativeTools, Options, Shell};
use serde_json::Value;

pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) tools: NativeTools,
}

pub(crate) fn call(name: &str, args: Value) -> ToolCall {
    ToolCall {
        call_id: "c1".to_owned(),
        name: name.to_owned(),
        args,
        malformed: None,
        masked: false,
        resolved: Vec::new(),
    }
}

impl Place {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self::with_shell(files, Shell::Enabled)
    }

    pub(crate) fn with_shell(files: &[(&str, &str)], shell: Shell) -> Self {
        Self::made(files, shell, None)
    }

    /// A place whose commands find programs in this folder of it first.
    pub(crate) fn with_path(files: &[(&str, &str)], first: &str) -> Self {
        Self::made(files, Shell::Enabled, Some(first))
    }

    fn made(files: &[(&str, &str)], shell: Shell, first: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/secret"), "untouched").unwrap();
        let workdir = folder.path().join("work");
        fs::create_dir(&workdir).unwrap();
        for (path, content) in files {
            let path = workdir.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        if let Some(first) = first {
            let mut with_first = workdir.join(first).into_os_string();
            with_first.push(":");
            with_first.push(&path);
            path = with_first;
        }
        let environment = vec![("PATH".into(), path), ("MY_TOKEN".into(), "secret".into())];
        // There is no program of ours here to start anew.
        let settings = Settings { mode: Mode::Off, ..Settings::default() };
        let sandbox = Arc::new(Sandbox::new(settings, Places::default(), Path::new("")).unwrap());
        let hosts = Hosts::of(["api.dev"]);
        let options = Options { shell, hosts, environment, variables: Vec::new(), sandbox };
        let tools = NativeTools::open(&workdir, options).unwrap();
        Self { folder, tools }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("work").join(path)
    }

    pub(crate) fn call(&self, name: &str, args: Value) -> ToolOutput {
        let mut call = call(name, args);
        call.resolved = wait_for(self.tools.resolve(&call));
        let prepared = self.prepare(&call);
        self.call_prepared(&call, &prepared, CancellationToken::new())
    }

    pub(crate) fn call_prepared(&self, call: &ToolCall, prepared: &Prepared, cancel: CancellationToken) -> ToolOutput {
        wait_for(self.tools.call(call, prepared, cancel))
    }

    pub(crate) fn prepare(&self, call: &ToolCall) -> Prepared {
        wait_for(self.tools.prepare(call))
    }

    pub(crate) fn settle(&self, changes: &[FileChange]) -> Settled {
        wait_for(self.tools.settle(changes))
    }

    /// Every file below the workdir; links and special files are left out.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(&self.path(""), &self.path(""), &mut files);
        files
    }

    #[track_caller]
    pub(crate) fn check_outside_is_untouched(&self) {
        let names: Vec<_> =
            fs::read_dir(self.folder.path().join("outside")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["secret"]);
        assert_eq!(fs::read_to_string(self.folder.path().join("outside/secret")).unwrap(), "untouched");
        let mut beside: Vec<_> =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        beside.sort();
        assert_eq!(beside, ["outside", "work"]);
    }
}

fn wait_for<T>(pending: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(pending)
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(root, &entry.path(), files);
        } else if kind.is_file() {
            let name = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned());
        }
    }
}
