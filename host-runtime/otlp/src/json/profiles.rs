//! Profiles in OTLP's JSON.

use super::{Hex, Json, List, Long};
use crate::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
use crate::proto::profiles::v1development::{
    Function, KeyValueAndUnit, Line, Link, Location, Mapping, Profile, ProfilesDictionary, ResourceProfiles,
    Sample, ScopeProfiles, Stack, ValueType,
};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Writes an object with these members.
macro_rules! object {
    ($serializer:expr, $($name:literal: $value:expr),+ $(,)?) => {{
        let mut map = $serializer.serialize_map(None)?;
        $(map.serialize_entry($name, &$value)?;)+
        map.end()
    }};
}

/// How a message is written.
macro_rules! message {
    ($type:ty, |$it:ident| $($name:literal: $value:expr),+ $(,)?) => {
        impl Serialize for Json<'_, $type> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $it = self.0;
                object!(serializer, $($name: $value),+)
            }
        }
    };
}

message!(ExportProfilesServiceRequest, |it|
    "resourceProfiles": List(&it.resource_profiles),
    "dictionary": it.dictionary.as_ref().map(Json),
);
message!(ResourceProfiles, |it|
    "resource": it.resource.as_ref().map(Json),
    "scopeProfiles": List(&it.scope_profiles),
    "schemaUrl": it.schema_url,
);
message!(ScopeProfiles, |it|
    "scope": it.scope.as_ref().map(Json),
    "profiles": List(&it.profiles),
    "schemaUrl": it.schema_url,
);
message!(Profile, |it|
    "sampleType": it.sample_type.as_ref().map(Json),
    "samples": List(&it.samples),
    "timeUnixNano": Long(it.time_unix_nano),
    "durationNano": Long(it.duration_nano),
    "profileId": Hex(&it.profile_id),
);
message!(ValueType, |it| "typeStrindex": it.type_strindex, "unitStrindex": it.unit_strindex);
message!(Sample, |it|
    "stackIndex": it.stack_index,
    "linkIndex": it.link_index,
    "values": it.values.iter().map(|&value| Long(value)).collect::<Vec<_>>(),
);
message!(ProfilesDictionary, |it|
    "mappingTable": List(&it.mapping_table),
    "locationTable": List(&it.location_table),
    "functionTable": List(&it.function_table),
    "linkTable": List(&it.link_table),
    "stringTable": it.string_table,
    "attributeTable": List(&it.attribute_table),
    "stackTable": List(&it.stack_table),
);
message!(Mapping, |it|
    "memoryStart": Long(it.memory_start),
    "memoryLimit": Long(it.memory_limit),
    "filenameStrindex": it.filename_strindex,
    "attributeIndices": it.attribute_indices,
);
message!(Location, |it|
    "mappingIndex": it.mapping_index,
    "address": Long(it.address),
    "lines": List(&it.lines),
);
message!(Line, |it| "functionIndex": it.function_index, "line": Long(it.line));
message!(Function, |it|
    "nameStrindex": it.name_strindex,
    "systemNameStrindex": it.system_name_strindex,
    "filenameStrindex": it.filename_strindex,
    "startLine": Long(it.start_line),
);
message!(Link, |it| "traceId": Hex(&it.trace_id), "spanId": Hex(&it.span_id));
message!(KeyValueAndUnit, |it|
    "keyStrindex": it.key_strindex,
    "value": it.value.as_ref().map(Json),
    "unitStrindex": it.unit_strindex,
);
message!(Stack, |it| "locationIndices": it.location_indices);
