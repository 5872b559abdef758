use empty;

wasm:func:entry / fname == "monitored" / {
    empty.enter(fid as i32);
}
wasm:func:exit / fname == "monitored" / {
    empty.leave(fid as i32);
}
