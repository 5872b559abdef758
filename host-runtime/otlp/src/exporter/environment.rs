//! OpenTelemetry's environment variables that say what is sent: the resource, the sampler, the size of a request.

use super::error::{ErrorKind, Result};
use super::settings::parse_pairs;
use crate::options::{Limits, ResourceOptions, SpanOptions};
use crate::sampler::Sampler;

const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARG: &str = "OTEL_TRACES_SAMPLER_ARG";
const BATCH: &str = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE";

/// The value of a variable. One that is empty counts as not set.
fn text(variable: &impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn of_process(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl ResourceOptions {
    /// `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` of this process's environment.
    ///
    /// # Errors
    ///
    /// If the attributes are not `NAME=VALUE,NAME=VALUE`.
    pub fn from_env() -> Result<ResourceOptions> {
        ResourceOptions::from_env_in(of_process)
    }

    fn from_env_in(variable: impl Fn(&str) -> Option<String>) -> Result<ResourceOptions> {
        let attributes = text(&variable, RESOURCE).unwrap_or_default();
        let attributes = parse_pairs(&attributes)
            .map_err(|error| ErrorKind::Variable { name: RESOURCE, what: error.to_string() })?;
        Ok(ResourceOptions { service_name: text(&variable, "OTEL_SERVICE_NAME"), attributes })
    }
}

impl SpanOptions {
    /// The resource ([`ResourceOptions::from_env`]), `OTEL_TRACES_SAMPLER` with `OTEL_TRACES_SAMPLER_ARG`, and
    /// `OTEL_BSP_MAX_EXPORT_BATCH_SIZE` of this process's environment.
    ///
    /// ```
    /// # use kperf_otlp::exporter::{self, Settings};
    /// # use kperf_otlp::SpanOptions;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (sink, sending) = exporter::sink(Settings::default().config()?, SpanOptions::from_env()?)?;
    /// # drop((sink, sending));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If a variable has an invalid value, or names a sampler that there isn't here.
    pub fn from_env() -> Result<SpanOptions> {
        SpanOptions::from_env_in(of_process)
    }

    fn from_env_in(variable: impl Fn(&str) -> Option<String>) -> Result<SpanOptions> {
        let wrong = |name, what| ErrorKind::Variable { name, what };
        let sampler = match text(&variable, SAMPLER) {
            None => Sampler::default(),
            Some(name) => {
                let argument = text(&variable, SAMPLER_ARG);
                let sampler = Sampler::named(&name, argument.as_deref());
                sampler.ok_or_else(|| match argument {
                    Some(argument) if name.ends_with("traceidratio") => {
                        wrong(SAMPLER_ARG, format!("`{argument}` is not a ratio; give a number from 0 to 1"))
                    }
                    _ => wrong(
                        SAMPLER,
                        format!(
                            "`{name}` is not a sampler here; use always_on, always_off or traceidratio, \
                                                 or one of these after `parentbased_`"
                        ),
                    ),
                })?
            }
        };
        let limits = match text(&variable, BATCH) {
            None => Limits::default(),
            Some(text) => match text.parse() {
                Ok(spans) if spans > 0 => Limits { spans, ..Limits::default() },
                _ => {
                    return Err(
                        wrong(BATCH, format!("`{text}` is not a number of spans; give 1 or more")).into()
                    );
                }
            },
        };
        let resource = ResourceOptions::from_env_in(variable)?;
        Ok(SpanOptions { sampler, limits, resource, ..SpanOptions::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(variables: &[(&str, &str)]) -> Result<SpanOptions, String> {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        SpanOptions::from_env_in(get).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_said_holds() {
        let said = [
            ("OTEL_SERVICE_NAME", " shop "),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=a%20b,service.name=x"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.5"),
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "7"),
        ];
        let options = options(&said).expect("options");
        assert_eq!(options.resource.service_name.as_deref(), Some("shop"));
        assert_eq!(options.resource.attributes[0], ("deployment.environment.name".into(), "a b".into()));
        assert_eq!(options.sampler, Sampler { ratio: 0.5, parent_based: false });
        assert_eq!(options.limits, Limits { spans: 7, ..Limits::default() });
        let none = super::tests::options(&[("OTEL_TRACES_SAMPLER", ""), ("OTEL_SERVICE_NAME", "")]);
        let none = none.expect("options");
        assert_eq!((none.sampler, none.resource), (Sampler::default(), ResourceOptions::default()));
    }

    #[test]
    fn what_has_no_meaning_names_its_variable() {
        let of = |variables| options(variables).err().expect("an error");
        assert_eq!(
            of(&[("OTEL_RESOURCE_ATTRIBUTES", "a")]),
            "failed to read OTEL_RESOURCE_ATTRIBUTES of the environment: `a` is not a pair; give NAME=VALUE"
        );
        let other = of(&[("OTEL_TRACES_SAMPLER", "jaeger_remote")]);
        assert!(
            other
                .starts_with("failed to read OTEL_TRACES_SAMPLER of the environment: `jaeger_remote` is not"),
            "{other}"
        );
        let ratio = of(&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "3")]);
        assert!(
            ratio
                .starts_with("failed to read OTEL_TRACES_SAMPLER_ARG of the environment: `3` is not a ratio"),
            "{ratio}"
        );
        assert!(of(&[("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "0")]).contains("is not a number of spans"));
    }
}
