//! Requests to providers: images, retries, time-outs.

use super::{LONGEST_MS, Setting};
use crate::settings::value::Kind::{Number, Switch};

const MOST_RETRIES: u64 = 1000;

/// The settings, in the order of the documentation.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        path: "images.autoResize",
        kind: Switch(|file, value| file.resize_images = Some(value)),
        default: "true",
        example: "false",
        about: "whether images that are too large for a model are [resized](protocol.md#prompting)",
    },
    Setting {
        path: "images.blockImages",
        kind: Switch(|file, value| file.block_images = Some(value)),
        default: "false",
        example: "true",
        about: "whether images are never sent to a provider; a note takes the place of each",
    },
    Setting {
        path: "retry.enabled",
        kind: Switch(|file, value| file.retry.enabled = Some(value)),
        default: "true",
        example: "false",
        about: "whether failed model calls are retried",
    },
    Setting {
        path: "retry.maxRetries",
        kind: Number(MOST_RETRIES, |file, value| file.retry.max_retries = u32::try_from(value).ok()),
        default: "3",
        example: "5",
        about: "the maximum number of retries",
    },
    Setting {
        path: "retry.baseDelayMs",
        kind: Number(LONGEST_MS, |file, value| file.retry.base_delay_ms = Some(value)),
        default: "2000",
        example: "1000",
        about: "the first delay; it doubles with each retry, minus a random part of up to a quarter",
    },
    Setting {
        path: "retry.maxAgentDelayMs",
        kind: Number(LONGEST_MS, |file, value| file.retry.max_agent_delay_ms = Some(value)),
        default: "60000",
        example: "30000",
        about: "the longest delay; if a provider requests a longer one, the call is not retried",
    },
    Setting {
        path: "httpConnectTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.http_connect_timeout_ms = Some(value)),
        default: "30000",
        example: "10000",
        about: "the time limit for connecting; 0 is none",
    },
    Setting {
        path: "httpFirstByteTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.http_first_byte_timeout_ms = Some(value)),
        default: "`httpIdleTimeoutMs`",
        example: "120000",
        about: "the time limit for the first byte of an answer; 0 is none",
    },
    Setting {
        path: "httpIdleTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.http_idle_timeout_ms = Some(value)),
        default: "300000",
        example: "60000",
        about: "the longest time without data from the provider; 0 means unlimited",
    },
    Setting {
        path: "httpTotalTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.http_total_timeout_ms = Some(value)),
        default: "3600000",
        example: "1800000",
        about: "the longest time that one answer may take in all, whatever the provider sends; 0 means unlimited",
    },
];
