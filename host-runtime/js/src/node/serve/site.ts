/** The site that is served: another development server, or an internal server of a folder's files. */

import { statSync } from 'node:fs';
import { Agent, request as ask, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { duplexPair, type Duplex } from 'node:stream';
import { Usage } from '../cli-args.js';
import { MAX_HEADERS, OF_CONNECTIONS } from './answer.js';
import { folderServer } from './folder.js';

/** A server that answers requests. */
export class Site {
    /** Its name in messages. */
    readonly name: string;
    readonly #authority: string;
    readonly #agent: Agent;

    private constructor(name: string, authority: string, agent: Agent) {
        this.name = name;
        this.#authority = authority;
        this.#agent = agent;
    }

    /** The files of a folder. */
    static folder(path: string): Site {
        if (!statSync(path).isDirectory()) throw new Usage(`\`${path}\` is not a folder`);
        const server = folderServer(path);
        const agent = new Agent();
        agent.createConnection = () => {
            const [ours, theirs] = duplexPair();
            ours.on('close', () => theirs.destroy());
            theirs.on('close', () => ours.destroy());
            server.emit('connection', theirs);
            return ours;
        };
        return new Site(path, 'localhost', agent);
    }

    /** Another development server, by its URL. */
    static proxy(address: string): Site {
        const url = URL.canParse(address) ? new URL(address) : undefined;
        if (url?.protocol !== 'http:') throw new Usage(`\`${address}\` is not an http URL, and --proxy takes no other`);
        if (url.pathname !== '/' || url.search !== '' || url.hash !== '') throw new Usage(`\`${address}\` has a path: give only the server`);
        return new Site(address, url.host, new Agent({ keepAlive: true }));
    }

    /**
     * The site's answer to a browser's request, for `path` and without some headers. Ends when `response` is closed. Rejects if the site
     * doesn't answer.
     */
    answer(request: IncomingMessage, response: ServerResponse, path: string, without: string[] = []): Promise<IncomingMessage> {
        return new Promise((resolve, reject) => {
            const headers = this.#headers(request.headers, [...OF_CONNECTIONS, ...without]);
            // Without it the body of some methods has no end, and the site would take it for another request.
            if (request.headers['transfer-encoding'] !== undefined) headers['transfer-encoding'] = 'chunked';
            const begin = (): void => {
                const asked = this.#ask(request, path, headers);
                asked.on('response', (answer) => {
                    this.#localize(answer.headers);
                    resolve(answer);
                });
                asked.on('error', (error: Error & { code?: string }) => {
                    // The site closed a kept connection before it read this request.
                    const isStale = asked.reusedSocket && error.code === 'ECONNRESET' && ['GET', 'HEAD'].includes(request.method!);
                    if (isStale && !response.destroyed) begin();
                    else reject(error);
                });
                response.on('close', () => response.writableFinished || asked.destroy());
                request.pipe(asked);
            };
            begin();
        });
    }

    /**
     * Switches protocols between the browser and the site. `takeOver` is called when the site agrees; otherwise the site's answer is
     * returned. Rejects if there is none.
     */
    upgrade(request: IncomingMessage, path: string, socket: Duplex, begun: Buffer, takeOver: () => void): Promise<IncomingMessage | undefined> {
        return new Promise((resolve, reject) => {
            const headers = { ...this.#headers(request.headers, OF_CONNECTIONS), connection: 'upgrade', upgrade: request.headers.upgrade ?? '' };
            const asked = this.#ask(request, path, headers);
            asked.on('error', reject);
            socket.on('close', () => asked.destroy());
            asked.on('response', (answer) => {
                this.#localize(answer.headers);
                resolve(answer);
            });
            asked.on('upgrade', (answer, theirs, first) => {
                takeOver();
                const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`];
                for (let at = 0; at < answer.rawHeaders.length; at += 2) lines.push(`${answer.rawHeaders[at]}: ${answer.rawHeaders[at + 1]}`);
                socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
                socket.write(first);
                theirs.write(begun);
                const end = (): void => void socket.destroy();
                theirs.on('error', end).on('close', end);
                socket.on('close', () => theirs.destroy());
                socket.pipe(theirs).pipe(socket);
                resolve(undefined);
            });
            asked.end();
        });
    }

    #ask(request: IncomingMessage, path: string, headers: IncomingHttpHeaders): ReturnType<typeof ask> {
        const { hostname, port } = new URL(`http://${this.#authority}`);
        return ask({ agent: this.#agent, host: hostname.replace(/^\[|\]$/g, ''), port: port || 80, method: request.method, path, headers, setHost: false, maxHeaderSize: MAX_HEADERS });
    }

    /**
     * The headers for the site, with its name instead of ours. Against forgery, servers compare a request's origin with their own name. So
     * requests of our pages get the site's origin, and requests of other sites keep their own.
     */
    #headers(headers: IncomingHttpHeaders, without: string[]): IncomingHttpHeaders {
        const ours = `http://${headers.host}`;
        const sent: IncomingHttpHeaders = { ...headers, host: this.#authority };
        for (const name of without) delete sent[name];
        for (const name of ['origin', 'referer'] as const) {
            const path = sent[name]?.startsWith(ours) ? sent[name].slice(ours.length) : undefined;
            if (path === '' || path?.startsWith('/')) sent[name] = `http://${this.#authority}${path}`;
        }
        return sent;
    }

    /** Redirects to us rather than to the site. */
    #localize(headers: IncomingHttpHeaders): void {
        const base = `http://${this.#authority}`;
        // A path that begins with two slashes would name another server.
        if (headers.location?.startsWith(`${base}/`) && headers.location[base.length + 1] !== '/') headers.location = headers.location.slice(base.length);
    }
}
