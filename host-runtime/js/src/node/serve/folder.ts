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
    const sent = send(request, encodeURI(`/${relative(root, file).split(sep).join('/')}`).replaceAll(/[?#]/g, encodeURIComponent), { root, dotfiles: 'allow', cacheControl: false });
    sent.on('error', ({ status, message }: Error & { status?: number }) => {
        if (response.headersSent) response.destroy();
        else if (status === 404) missing();
        else respond(response, status ?? 500, `${path} can't be read: ${message}`);
    });
    sent.pipe(response);
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
