// Requests of a server, as bytes or nearly so: `fetch` would tidy paths and headers.
import { request } from 'node:http';
import { connect } from 'node:net';

/** The answer to a request: its status, headers and text. */
export function get({ url }, path, headers = {}, method = 'GET', body) {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
        const asked = request({ hostname, port, path, headers, method, agent: false }, (response) => {
            const { statusCode: status, headers } = response;
            const pieces = [];
            response.on('data', (piece) => pieces.push(piece)).on('error', reject);
            response.on('end', () => resolve({ status, headers, text: Buffer.concat(pieces).toString() }));
        });
        asked.on('error', reject).end(body);
    });
}

/** The answer to a part of a trace. `last`, `unsent` and `gzip` are headers. */
export function postPart(server, trace, part, body, { last, unsent, gzip } = {}) {
    const headers = {
        'kperf-trace': trace,
        'kperf-part': String(part),
        ...(last && { 'kperf-last': '1' }),
        ...(unsent && { 'kperf-unsent': String(unsent) }),
        ...(gzip && { 'content-encoding': 'gzip' }),
    };
    return get(server, '/.kperf/trace', headers, 'POST', body);
}

/** The answer to a module that is to get probes. */
export function postModule(server, wasm) {
    return get(server, '/.kperf/probe?name=m&id_base=0&form=alone', { 'kperf-probe': '1' }, 'POST', wasm);
}

/** The answer to these bytes, until the other side closes or is silent for a while. */
export function raw({ url }, ...lines) {
    const { hostname, port } = new URL(url);
    return new Promise((resolve) => {
        const socket = connect(port, hostname, () => socket.write(lines.join('\r\n'), 'latin1'));
        let answer = '';
        const done = () => resolve(answer) || socket.destroy();
        socket.setTimeout(1500, done);
        socket.on('data', (bytes) => (answer += bytes.toString('latin1'))).on('close', done).on('error', done);
    });
}

/** Lets a server listen; its address. */
export async function listening(server) {
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${server.address().port}`;
}
