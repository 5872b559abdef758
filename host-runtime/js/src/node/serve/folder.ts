/** Serves the files of a folder: nothing outside of it, nor files whose names begin with a dot. */

import { realpathSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { basename, extname, join, relative, sep } from 'node:path';
import { MAX_HEADERS, respond } from './answer.js';

/** The published `send`, in one piece with what it wants (scripts/build.mjs). */
const { send, lookup } = createRequire(import.meta.url)('./send.cjs') as { send: typeof import('send'); lookup: (extension: string) => string | false };

/** The only folder of such a name that is for everybody (RFC 8615). */
const WELL_KNOWN = '.well-known';
/** Files that are another one, packed, in the order in which they are preferred. */
const PACKED: [coding: string, ending: string][] = [['br', '.br'], ['gzip', '.gz']];

/** A server of a folder's files. It doesn't listen. */
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
    // (Two slashes at its beginning would name another server.)
    const oneSlash = `/${path.replace(/^\/+/, '')}`;
    if (isFolder && !path.endsWith('/')) return void response.writeHead(307, { location: `${oneSlash}/${query === undefined ? '' : `?${query}`}` }).end();
    // The app is being worked on: a file may change at any time.
    response.setHeader('cache-control', 'no-cache');
    // Without an encoding: a page says its own.
    response.setHeader('content-type', lookup(extname(file)) || 'application/octet-stream');
    const packed = packedForm(root, file, request, response);
    const sent = send(request, encodeURI(`/${relative(root, packed ?? file).split(sep).join('/')}`).replaceAll(/[?#]/g, encodeURIComponent), { root, dotfiles: 'allow', cacheControl: false });
    sent.on('error', ({ status, message }: Error & { status?: number }) => {
        if (response.headersSent) response.destroy();
        else if (status === 404) missing();
        else respond(response, status ?? 500, `${path} can't be read: ${message}`);
    });
    sent.pipe(response);
}

/** The file that a path leads to, if that is in the folder and for others. Links may lead out of it. Of a folder it is its page. */
function fileOf(root: string, path: string): { file: string; isFolder: boolean } | undefined {
    try {
        const decoded = decodeURIComponent(path);
        const parts = decoded.split('/').filter((part) => part !== '');
        if (parts.some((part) => part !== basename(part) || part.includes('\0') || part.includes(sep) || !isPublic(part))) return undefined;
        const asked = realpathSync(join(root, ...parts));
        const isFolder = statSync(asked).isDirectory();
        const file = isFolder ? realpathSync(join(asked, 'index.html')) : asked;
        // (A pipe would never be read to its end.)
        return isInside(root, file) && statSync(file).isFile() && (isFolder || !decoded.endsWith('/')) ? { file, isFolder } : undefined;
    } catch {
        // It isn't there any more, or its name is none.
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

/** The file's packed form, if there is one that the browser takes. The answer says then what it is. */
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
