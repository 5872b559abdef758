//! Sending: to servers that fail, and with TLS.

mod faults;
mod tls;
