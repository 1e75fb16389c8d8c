//! The port to the grants that outlive a run.

use adjutant_core::gate::Grant;

/// Store of a project's grants and their revocations.
pub trait GrantStore: Send + Sync {
    /// Returns true if a grant was revoked, or if that can't be determined.
    fn is_revoked(&self, grant_id: &str) -> bool;

    /// Keeps a grant for later runs. Keeping it twice changes nothing.
    ///
    /// # Errors
    ///
    /// The fault as a sentence, if the grant is not on the disk.
    fn keep(&self, grant: &Grant) -> Result<(), String>;
}
