//! The port to the grants that outlive a run.

use adjutant_core::gate::Grant;

/// Store of a project's grants and their revocations.
pub trait GrantStore: Send + Sync {
    /// Returns those of these grants that were revoked; all of them if that can't be determined.
    fn revoked(&self, grants: &[&str]) -> Vec<String>;

    /// Keeps a grant for later runs. Keeping it twice changes nothing.
    ///
    /// # Errors
    ///
    /// The fault as a sentence, if the grant is not on the disk.
    fn keep(&self, grant: &Grant) -> Result<(), String>;
}
