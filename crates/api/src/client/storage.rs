//! Storage and the quarantine.

use super::{Client, ClientError, escape};
use crate::cleanup::CleanupJob;
use crate::storage::{QuarantineEntry, QuarantinePlace, RestoreQuarantined, Storage, UnownedPlace};

impl Client {
    /// Reads what takes room.
    pub fn storage(&self) -> Result<Storage, ClientError> {
        self.get("/storage")
    }

    /// Asks for everything to be measured anew, in the background.
    pub fn measure_storage(&self) -> Result<Storage, ClientError> {
        self.post("/storage/measure")
    }

    /// Lists what nobody owns.
    pub fn unowned(&self) -> Result<Vec<UnownedPlace>, ClientError> {
        self.get("/storage/unowned")
    }

    /// Lists what is in quarantine.
    pub fn quarantine(&self) -> Result<Vec<QuarantineEntry>, ClientError> {
        self.get("/storage/quarantine")
    }

    /// Puts something without an owner into quarantine.
    pub fn quarantine_place(&self, request: &QuarantinePlace) -> Result<QuarantineEntry, ClientError> {
        self.send(ureq::http::Method::POST, "/storage/quarantine", request)
    }

    /// Reads an entry of the quarantine.
    pub fn quarantine_entry(&self, id: &str) -> Result<QuarantineEntry, ClientError> {
        self.get(&format!("/storage/quarantine/{}", escape(id)))
    }

    /// Takes something back from the quarantine.
    pub fn restore_quarantined(
        &self,
        id: &str,
        request: &RestoreQuarantined,
    ) -> Result<QuarantineEntry, ClientError> {
        let path = format!("/storage/quarantine/{}/restore", escape(id));
        self.send(ureq::http::Method::POST, &path, request)
    }

    /// Lets something go from the quarantine for good.
    pub fn purge_quarantined(&self, id: &str) -> Result<CleanupJob, ClientError> {
        self.delete(&format!("/storage/quarantine/{}", escape(id)))
    }
}
