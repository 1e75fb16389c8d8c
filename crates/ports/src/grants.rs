//! The port to the grants that outlive a run.

use adjutant_core::gate::Grant;

/// Where a project's grants are kept, and taken back.
pub trait GrantStore: Send + Sync {
    /// Whether a grant was taken back; also yes if that can't be found out.
    fn is_revoked(&self, grant_id: &str) -> bool;

    /// Keeps a grant for later runs. Keeping it twice changes nothing.
    ///
    /// # Errors
    ///
    /// What went wrong, as a sentence, if it is not on the disk.
    fn keep(&self, grant: &Grant) -> Result<(), String>;
}
