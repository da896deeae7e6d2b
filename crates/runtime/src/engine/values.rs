//! Values that are too large for a record: written to blobs and read back.

use std::sync::Arc;

use offshoot_core::{Payload, TooLarge};
use serde::de::DeserializeOwned;

use super::Engine;
use super::live_task::LiveTask;
use crate::error::Error;

impl Engine {
    /// Decodes a value, from the record or from its blob.
    pub(crate) async fn load<T: DeserializeOwned>(&self, value: &Payload) -> Result<T, Error> {
        match value {
            Payload::Blob(blob) => {
                let json = self.store.blob(**blob).await?;
                let json =
                    json.ok_or_else(|| Error::not_found(format!("blob of {}", blob.task)))?;
                Ok(Payload::Json(json.into()).decode()?)
            }
            inline => Ok(inline.decode()?),
        }
    }

    /// Moves a value that is too large for a record to a blob; returns a small
    /// one unchanged.
    pub(crate) async fn store_large(
        &self,
        live: &LiveTask,
        what: &'static str,
        value: Payload,
    ) -> Result<Payload, Error> {
        let sizes = &self.config.sizes;
        let bytes = usize::try_from(value.bytes()).unwrap_or(usize::MAX);
        TooLarge::check(what, bytes, sizes.value)?;
        if bytes <= sizes.inline {
            return Ok(value);
        }
        let json: Arc<str> = value.as_json()?.into();
        let mut tries = 0;
        loop {
            match self.store.put_blob(live.spec.id, json.clone()).await {
                Ok(blob) => return Ok(blob.into()),
                Err(error) if self.is_closed() => return Err(error.into()),
                Err(_) => {
                    live.set_settling(true);
                    self.back_off(tries).await;
                    tries += 1;
                }
            }
        }
    }
}
