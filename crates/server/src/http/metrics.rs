//! What operators measure, in the text format of Prometheus.

use std::sync::LazyLock;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use freehold_api::error::ErrorBody;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::Context;
use crate::problem::Problem;

/// The limits, in seconds, by which attempts of cleanup jobs are sorted.
const ATTEMPT_SECONDS: [f64; 8] = [0.01, 0.05, 0.2, 1.0, 5.0, 20.0, 60.0, 300.0];

/// The recorder of this process; none when the program had installed another one before.
static RECORDER: LazyLock<Option<PrometheusHandle>> = LazyLock::new(|| {
    let attempts = Matcher::Full("freehold_cleanup_attempt_seconds".to_owned());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(attempts, &ATTEMPT_SECONDS);
    match builder.and_then(PrometheusBuilder::install_recorder) {
        Ok(handle) => Some(handle),
        Err(error) => {
            tracing::warn!(%error, "nothing is measured");
            None
        }
    }
});

/// Begins to count; what happened before is not told.
pub(crate) fn begin() {
    LazyLock::force(&RECORDER);
}

/// Gives what is measured, in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses(
        (status = 200, description = "one line for each number", content_type = "text/plain", body = String),
        (status = 401, body = ErrorBody),
    ))]
pub(crate) async fn read_metrics(State(context): State<Context>) -> Result<Response, Problem> {
    context.engine.update_gauges().await?;
    let text = RECORDER.as_ref().map(PrometheusHandle::render).unwrap_or_default();
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
