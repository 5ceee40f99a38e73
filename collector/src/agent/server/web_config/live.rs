//! The web configuration of a running server: replaced as a whole, for new connections.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::WebConfig;

/// The current configuration.
#[derive(Default)]
pub struct LiveWebConfig(RwLock<Arc<WebConfig>>);

/// Without keys and hashes.
impl fmt::Debug for LiveWebConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveWebConfig").finish_non_exhaustive()
    }
}

impl LiveWebConfig {
    /// Begins with this one.
    #[must_use]
    pub fn new(config: WebConfig) -> Self {
        Self(RwLock::new(Arc::new(config)))
    }

    /// The current one.
    #[must_use]
    pub fn get(&self) -> Arc<WebConfig> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces it.
    pub fn set(&self, config: WebConfig) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }
}
