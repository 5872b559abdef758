//! Which names the server answers to. With any other name, a foreign site could read what it serves (DNS rebinding).

use std::net::IpAddr;

/// The names and addresses of the server.
pub struct Hosts {
    /// Whether only this machine can reach it.
    pub local: bool,
    /// More names, as the user has given them.
    pub names: Vec<String>,
}

impl Hosts {
    /// Whether a `Host` header names this server. An address is no name, so nobody can bend it.
    pub fn has(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost"
            || name.ends_with(".localhost")
            || name.parse::<IpAddr>().is_ok_and(|address| !self.local || address.is_loopback())
            || self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_anybody_can_own_is_none_of_ours() {
        for (host, at_home, in_a_network) in [
            ("localhost:8080", true, true),
            ("app.localhost", true, true),
            ("127.0.0.1:1", true, true),
            ("[::1]:8080", true, true),
            ("192.168.1.5:8080", false, true),
            ("evil.example", false, false),
            ("127.0.0.1.evil.example", false, false),
            ("Mine.example:80", true, true),
        ] {
            let has = |local| Hosts { local, names: vec!["mine.example".into()] }.has(host);
            assert_eq!((has(true), has(false)), (at_home, in_a_network), "{host}");
        }
    }
}
