//! Profiles as OpenTelemetry's own signal: nothing is missing, however requests are cut. `tests/python.rs` has somebody else read them.

use crate::common::simple;
use kperf_otlp::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
use kperf_otlp::proto::profiles::v1development::ProfilesDictionary;
use kperf_otlp::{Limits, ProfileOptions, Request, ResourceOptions, TraceContext, profiles};
use kperf_profile::{CallFilter, Profile, Symbols};
use kperf_trace::{FuncId, TraceReader};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};

fn requests(profile: &Profile, options: &ProfileOptions) -> Vec<Request> {
    let mut requests = Vec::new();
    profiles(profile, options, |request| {
        requests.push(request);
        Ok::<_, ()>(())
    })
    .unwrap();
    requests
}

fn read(file: &[u8]) -> Profile {
    Profile::read(TraceReader::new(file).unwrap(), |_| ()).unwrap()
}

/// The names of a stack, the outermost first.
fn path(dictionary: &ProfilesDictionary, stack: i32) -> String {
    let stack = &dictionary.stack_table[stack as usize];
    let name = |&location: &i32| {
        let location = &dictionary.location_table[location as usize];
        let function = &dictionary.function_table[location.lines[0].function_index as usize];
        dictionary.string_table[function.name_strindex as usize].clone()
    };
    stack.location_indices.iter().rev().map(name).collect::<Vec<_>>().join(";")
}

/// Each path's value, by the kind of value.
fn values(requests: &[Request]) -> BTreeMap<String, BTreeMap<String, i64>> {
    let mut values: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
    for request in requests {
        let decoded = ExportProfilesServiceRequest::decode(&request.body[..]).unwrap();
        let dictionary = decoded.dictionary.unwrap();
        let of_request = &decoded.resource_profiles[0].scope_profiles[0].profiles;
        assert_eq!(of_request.len() as u64, request.spans);
        for profile in of_request {
            let kind = profile.sample_type.unwrap();
            let [kind, unit] = [kind.type_strindex, kind.unit_strindex]
                .map(|index| &dictionary.string_table[index as usize]);
            let of_kind = values.entry(format!("{kind} {unit}")).or_default();
            for sample in &profile.samples {
                let before = of_kind.insert(path(&dictionary, sample.stack_index), sample.values[0]);
                assert_eq!(before, None, "a path comes once");
            }
        }
    }
    values
}

const CALLS: &str = "10 main{ 500 step{ 1000 } step{ 3000 cell{ 100 } } cell{ } 70 } 5 cell{ 5 }";

#[test]
fn every_path_has_its_calls_and_its_own_time() {
    let values = values(&requests(&read(&simple(CALLS)), &ProfileOptions::default()));
    let pairs =
        |kind: &str| values[kind].iter().map(|(path, &value)| (path.as_str(), value)).collect::<Vec<_>>();
    let calls = [("cell", 1), ("main", 1), ("main;cell", 1), ("main;step", 2), ("main;step;cell", 1)];
    assert_eq!(pairs("calls count"), calls);
    // What took no time has no sample of time.
    assert_eq!(
        pairs("wall nanoseconds"),
        [("cell", 5), ("main", 570), ("main;step", 4000), ("main;step;cell", 100)]
    );
}

#[test]
fn however_requests_are_cut_all_is_in_them_once() {
    let body: String = (0..300).map(|n| format!("f{n}{{ 1 g{n}{{ 2 h{{ 3 }} }} }} ")).collect();
    let profile = read(&simple(&format!("main{{ {body}}}")));
    let whole = requests(&profile, &ProfileOptions::default());
    assert_eq!(whole.len(), 1);
    let expected = values(&whole);
    assert_eq!(expected["calls count"].len(), 901);
    for limits in [
        Limits { spans: 1, ..Limits::default() },
        Limits { spans: 100, ..Limits::default() },
        Limits { bytes: 4_000, ..Limits::default() },
        Limits { bytes: 1, spans: 10_000 },
    ] {
        let cut = requests(&profile, &ProfileOptions { limits, ..ProfileOptions::default() });
        assert!(cut.len() > 10, "{limits:?}: {}", cut.len());
        let most = cut.iter().map(|request| request.body.len()).max().unwrap();
        assert!(limits.bytes == 1 || most <= limits.bytes, "{limits:?}: {most}");
        assert_eq!(values(&cut), expected, "{limits:?}");
    }
}

#[test]
fn ids_come_once_and_come_again() {
    let profile = read(&simple(CALLS));
    let ids = |seed| {
        let limits = Limits { spans: 2, ..Limits::default() };
        let requests = requests(&profile, &ProfileOptions { seed, limits, ..ProfileOptions::default() });
        let of = |request: &Request| {
            let decoded = ExportProfilesServiceRequest::decode(&request.body[..]).unwrap();
            let profiles = decoded.resource_profiles[0].scope_profiles[0].profiles.clone();
            profiles.into_iter().map(|profile| profile.profile_id).collect::<Vec<_>>()
        };
        requests.iter().flat_map(of).collect::<Vec<_>>()
    };
    let (first, again, other) = (ids(None), ids(None), ids(Some(7)));
    assert_eq!(first, again);
    let all: BTreeSet<_> = first.iter().chain(&other).collect();
    assert_eq!(all.len(), first.len() + other.len());
}

#[test]
fn each_filter_has_ids_of_its_own() {
    let file = simple(CALLS);
    let ids = |keep: &dyn Fn(&Symbols, FuncId) -> bool| {
        let filter = CallFilter { keep, ..CallFilter::default() };
        let profile = Profile::read_filtered(TraceReader::new(&file[..]).unwrap(), &filter, |_| ()).unwrap();
        let request = requests(&profile, &ProfileOptions::default()).remove(0);
        let decoded = ExportProfilesServiceRequest::decode(&request.body[..]).unwrap();
        decoded.resource_profiles[0].scope_profiles[0].profiles[0].profile_id.clone()
    };
    assert_eq!(ids(&|_, _| true), ids(&|_, _| true));
    assert_ne!(ids(&|_, _| true), ids(&|symbols, func| symbols.name(func) != "cell"));
}

#[test]
fn long_names_and_a_large_resource_fit_into_a_request() {
    let names: Vec<String> = (0..40).map(|n| format!("{n}_{}", "n".repeat(4_000))).collect();
    let body: String = names.iter().map(|name| format!("{name}{{ 1 }} ")).collect();
    let deep: String = names.iter().map(|name| format!("{name}{{ 1 ")).collect::<String>() + &"} ".repeat(40);
    let attributes = vec![("k".to_owned(), "v".repeat(9_000))];
    let resource = ResourceOptions { attributes, ..ResourceOptions::default() };
    for (body, paths) in [(body, 41), (deep, 41)] {
        let profile = read(&simple(&format!("main{{ {body}}}")));
        for bytes in [50_000, 100_000] {
            let limits = Limits { bytes, ..Limits::default() };
            let options = ProfileOptions { limits, resource: resource.clone(), ..ProfileOptions::default() };
            let requests = requests(&profile, &options);
            let most = requests.iter().map(|request| request.body.len()).max().unwrap();
            assert!(most <= bytes, "{most} of {bytes}");
            let decoded =
                |request: &Request| ExportProfilesServiceRequest::decode(&request.body[..]).unwrap();
            let samples = requests.iter().map(|request| {
                let scope = decoded(request).resource_profiles[0].scope_profiles[0].clone();
                scope.profiles.last().unwrap().samples.len()
            });
            assert_eq!(samples.sum::<usize>(), paths);
        }
    }
}

#[test]
fn samples_link_to_the_span_around_the_run() {
    let profile = read(&simple(CALLS));
    let parent = TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "").unwrap();
    for (parent, link) in [(None, 0), (Some(parent), 1)] {
        let options = ProfileOptions { parent, ..ProfileOptions::default() };
        let [request] = &requests(&profile, &options)[..] else { panic!("one request") };
        let decoded = ExportProfilesServiceRequest::decode(&request.body[..]).unwrap();
        let samples = &decoded.resource_profiles[0].scope_profiles[0].profiles[0].samples;
        assert!(samples.iter().all(|sample| sample.link_index == link));
        assert_eq!(decoded.dictionary.unwrap().link_table.len(), 1 + link as usize);
    }
}

#[test]
fn a_trace_without_calls_makes_no_request() {
    assert!(requests(&read(&simple("")), &ProfileOptions::default()).is_empty());
}
