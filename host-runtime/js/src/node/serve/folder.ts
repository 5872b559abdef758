/** Serves the files of a folder, but no files outside of it or with names that begin with a dot. */

import { realpathSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { basename, extname, join, relative, sep } from 'node:path';
import { MAX_HEADERS, respond } from './answer.js';

/** The published `send` with its dependencies, bundled by scripts/build.mjs. */
const { send, lookup } = createRequire(import.meta.url)('./send.cjs') as { send: typeof import('send'); lookup: (extension: string) => string | false };

/** The only public folder with a name that begins with a dot (RFC 8615). */
const WELL_KNOWN = '.well-known';
/** Codings of compressed files and the endings of their names, in the order of preference. */
const PACKED: [coding: string, ending: string][] = [['br', '.br'], ['gzip', '.gz']];

/** A server of a folder's files, which doesn't listen. */
export function folderServer(folder: string): Server {
    const root = realpathSync(folder);
    return createServer({ maxHeaderSize: MAX_HEADERS, requestTimeout: 0 }, (request, response) => answer(root, request, response));
}

function answer(root: string, request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET' && request.method !== 'HEAD') return respond(response, 405, 'a folder only answers GET and HEAD');
    const [path = '/', query] = request.url!.split(/\?(.*)/s);
    const missing = (): void => respond(response, 404, `there is no ${path}`);
    const found = fileOf(root, path);
    if (found === undefined) return missing();
    const { file, isFolder } = found;
    // A path that begins with two slashes would name another server.
    const oneSlash = `/${path.replace(/^\/+/, '')}`;
    if (isFolder && !path.endsWith('/')) return void response.writeHead(307, { location: `${oneSlash}/${query === undefined ? '' : `?${query}`}` }).end();
    // The app is being developed: a file may change at any time.
    response.setHeader('cache-control', 'no-cache');
    // Without a charset: a page has its own.
    response.setHeader('content-type', lookup(extname(file)) || 'application/octet-stream');
    if (!isRange(request.headers.range)) delete request.headers.range;
    const packed = packedForm(root, file, request, response);
    const sent = send(request, encodeURI(`/${relative(root, packed ?? file).split(sep).join('/')}`).replaceAll(/[?#]/g, encodeURIComponent), { root, dotfiles: 'allow', cacheControl: false });
    sent.on('error', ({ status, message }: Error & { status?: number }) => {
        if (response.headersSent) response.destroy();
        else if (status === 404) missing();
        else respond(response, status ?? 500, `${path} can't be read: ${message}`);
    });
    sent.pipe(response);
}

/** Whether a `Range` is well formed. Others have to be ignored (RFC 9110, 14.2), and `send` refuses them. */
function isRange(range = ''): boolean {
    const isPart = (part: string): boolean => {
        const [, from, to] = /^\s*(\d*)-(\d*)\s*$/.exec(part) ?? [];
        return (from || to) !== undefined && (from || to) !== '' && (!from || !to || Number(from) <= Number(to));
    };
    return range.startsWith('bytes=') && range.slice('bytes='.length).split(',').every(isPart);
}

/** The file of a path, if it is public and in the folder after resolving links. A folder's file is its `index.html`. */
function fileOf(root: string, path: string): { file: string; isFolder: boolean } | undefined {
    try {
        const decoded = decodeURIComponent(path);
        const parts = decoded.split('/').filter((part) => part !== '');
        if (parts.some((part) => part !== basename(part) || part.includes('\0') || part.includes(sep) || !isPublic(part))) return undefined;
        const asked = realpathSync(join(root, ...parts));
        const isFolder = statSync(asked).isDirectory();
        const file = isFolder ? realpathSync(join(asked, 'index.html')) : asked;
        // A pipe may never end.
        return isInside(root, file) && statSync(file).isFile() && (isFolder || !decoded.endsWith('/')) ? { file, isFolder } : undefined;
    } catch {
        // It is gone, or its name is invalid.
        return undefined;
    }
}

function isInside(root: string, file: string): boolean {
    const parts = relative(root, file).split(sep);
    return parts[0] !== '..' && join(root, ...parts) === file && parts.every(isPublic);
}

function isPublic(name: string): boolean {
    return !name.startsWith('.') || name === WELL_KNOWN;
}

/** The file's compressed form, if there is one that the browser accepts. Sets the headers of the response. */
function packedForm(root: string, file: string, { headers }: IncomingMessage, response: ServerResponse): string | undefined {
    const forms = PACKED.map(([coding, ending]) => ({ coding, path: file + ending })).filter(({ path }) => isFileInside(root, path));
    if (forms.length === 0) return undefined;
    response.setHeader('vary', 'accept-encoding');
    const taken = String(headers['accept-encoding'] ?? '').split(',').map((coding) => coding.trim()).filter((coding) => !/;\s*q=0(\.0*)?$/.test(coding)).map((coding) => coding.split(';')[0]);
    const form = forms.find(({ coding }) => taken.includes(coding));
    if (form) response.setHeader('content-encoding', form.coding);
    return form?.path;
}

function isFileInside(root: string, path: string): boolean {
    try {
        const file = realpathSync(path);
        return isInside(root, file) && statSync(file).isFile();
    } catch {
        return false;
    }
}
