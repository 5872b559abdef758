//! A page's Content-Security-Policy, with room for the recorder.

/// What falls back to what: the lists of sources that the recorder needs a place in.
const LISTS: [(&str, &[&str]); 4] = [
    ("script-src", &["default-src"]),
    ("script-src-elem", &[]),
    ("worker-src", &["child-src", "script-src", "default-src"]),
    ("connect-src", &["default-src"]),
];

/// The policies of a header with what the recorder needs: its script and its requests, both below `ours` (`localhost:8080/.kperf/`), and
/// workers that begin there or as texts of ours. All else stays as it is. A value may have several policies.
pub fn extend(policies: &str, ours: &str) -> String {
    policies.split(',').map(|policy| extend_one(policy, ours)).collect::<Vec<_>>().join(",")
}

/// The same for all policies of an answer, and the nonce that the scripts of a page have.
pub fn extend_all(policies: &[String], ours: &str) -> (Vec<String>, Option<String>) {
    let nonce = policies.iter().find_map(|policies| nonce(policies));
    (policies.iter().map(|policies| extend(policies, ours)).collect(), nonce.map(str::to_owned))
}

fn extend_one(policy: &str, ours: &str) -> String {
    let mut directives: Vec<(String, Vec<&str>)> = Vec::new();
    for directive in policy.split(';') {
        let mut words = directive.split_ascii_whitespace();
        let Some(name) = words.next().map(str::to_ascii_lowercase) else { continue };
        // Of two of a name the first counts. A script may start no worker from an address where types are demanded.
        if name != "require-trusted-types-for" && directives.iter().all(|(other, _)| *other != name) {
            directives.push((name, words.collect()));
        }
    }
    let found =
        |name: &str| directives.iter().find(|(own, _)| own == name).map(|(_, sources)| sources.clone());
    let mut added = Vec::new();
    for (name, others) in LISTS {
        let Some(mut sources) = found(name).or_else(|| others.iter().find_map(|name| found(name))) else {
            // It restricts nothing of that kind.
            continue;
        };
        sources.retain(|source| !source.eq_ignore_ascii_case("'none'"));
        sources.push(ours);
        if name != "connect-src" {
            sources.push("blob:");
        }
        added.push((name.to_owned(), sources));
    }
    directives.retain(|(name, _)| added.iter().all(|(own, _)| own != name));
    directives.extend(added);
    let text = |(name, sources): &(String, Vec<&str>)| [&[name.as_str()], &sources[..]].concat().join(" ");
    directives.iter().map(text).collect::<Vec<_>>().join("; ")
}

/// The nonce that scripts of the page have, if it demands one.
pub fn nonce(policies: &str) -> Option<&str> {
    let is_nonce = |word: &&str| word.starts_with("'nonce-") && word.ends_with('\'');
    let word = policies.split([';', ',', ' ', '\t']).find(is_nonce)?;
    let nonce = word.trim_start_matches("'nonce-").trim_end_matches('\'');
    // It goes into a tag.
    nonce.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte)).then_some(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_recorder_gets_more() {
        for (policy, expected) in [
            (
                "default-src 'self'; img-src data:",
                "default-src 'self'; img-src data:; script-src 'self' H/ blob:; worker-src 'self' H/ blob:; connect-src 'self' H/",
            ),
            (
                "script-src 'none' ;; Connect-SRC api.example; require-trusted-types-for 'script'",
                "script-src H/ blob:; worker-src H/ blob:; connect-src api.example H/",
            ),
            ("frame-ancestors 'none'", "frame-ancestors 'none'"),
            ("child-src x; child-src y", "child-src x; worker-src x H/ blob:"),
            ("img-src a, script-src b", "img-src a,script-src b H/ blob:; worker-src b H/ blob:"),
            ("", ""),
        ] {
            assert_eq!(extend(policy, "H/"), expected);
        }
    }

    #[test]
    fn a_page_that_wants_a_nonce_gets_its_own() {
        assert_eq!(nonce("script-src 'nonce-a+B/1=' 'strict-dynamic'; x"), Some("a+B/1="));
        assert_eq!(nonce("script-src 'self'"), None);
        assert_eq!(nonce("script-src 'nonce-\"><script>'"), None);
    }
}
