/** The site that is served: another development server, or a folder behind a server of our own that only we can reach. */

import { statSync } from 'node:fs';
import { Agent, request as ask, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { Usage } from '../cli-args.js';
import { MAX_HEADERS } from './answer.js';
import { folderServer } from './folder.js';

/** Headers that are about one connection. */
const OF_CONNECTIONS = ['connection', 'keep-alive', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

/** Something that answers requests. */
export class Site {
    /** What people call it. */
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
            const [ours, theirs] = Side.pair();
            server.emit('connection', theirs);
            return ours;
        };
        return new Site(path, 'localhost', agent);
    }

    /** Another development server, by its address. */
    static proxy(address: string): Site {
        const url = URL.canParse(address) ? new URL(address) : undefined;
        if (url?.protocol !== 'http:') throw new Usage(`\`${address}\` doesn't begin with http://, which is all that --proxy takes`);
        if (url.pathname !== '/' || url.search !== '' || url.hash !== '') throw new Usage(`\`${address}\` has a path; give only the server, its paths stay as they are`);
        return new Site(address, url.host, new Agent({ keepAlive: true }));
    }

    /**
     * Its answer to what a browser asks for, who may go away before `response` is whole. `path` is another one than the browser's, or
     * the same. Fails if the site doesn't answer.
     */
    answer(request: IncomingMessage, response: ServerResponse, path: string, without: string[] = []): Promise<IncomingMessage> {
        return new Promise((resolve, reject) => {
            const headers = this.#headers(request.headers, [...OF_CONNECTIONS, ...without]);
            // Without it some methods would have a body that nothing tells the end of, and that the site took for another request.
            if (request.headers['transfer-encoding'] !== undefined) headers['transfer-encoding'] = 'chunked';
            const begin = (): void => {
                const asked = this.#ask(request, path, headers);
                asked.on('response', (answer) => {
                    this.#localize(answer.headers);
                    resolve(answer);
                });
                asked.on('error', (error: Error & { code?: string }) => {
                    // The site closed a connection that was kept, when this was on its way.
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
     * Connects the browser with the site, where both want another protocol than HTTP; `takeOver` takes the connection from those who
     * speak HTTP. Where the site doesn't, that is its answer. Fails if there is none.
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
     * What the site is told. It gets its own name in the place of ours: servers compare where a request comes from with their name,
     * against forgery; so pages of ours are pages of theirs, and those of other sites stay what they are.
     */
    #headers(headers: IncomingHttpHeaders, without: string[]): IncomingHttpHeaders {
        const ours = `http://${headers.host}`;
        const told: IncomingHttpHeaders = { ...headers, host: this.#authority };
        for (const name of without) delete told[name];
        for (const name of ['origin', 'referer'] as const) {
            const path = told[name]?.startsWith(ours) ? told[name].slice(ours.length) : undefined;
            if (path === '' || path?.startsWith('/')) told[name] = `http://${this.#authority}${path}`;
        }
        return told;
    }

    /** Makes a redirection to the site lead to us. */
    #localize(headers: IncomingHttpHeaders): void {
        const base = `http://${this.#authority}`;
        // (Two slashes would name another server.)
        if (headers.location?.startsWith(`${base}/`) && headers.location[base.length + 1] !== '/') headers.location = headers.location.slice(base.length);
    }
}

/** One end of a connection within this process. */
class Side extends Duplex {
    #other: Side | undefined;
    /** Called when the other side has room. */
    #written: (() => void) | undefined;

    static pair(): [Side, Side] {
        const [one, two] = [new Side(), new Side()];
        one.#other = two;
        two.#other = one;
        return [one, two];
    }

    override _read(): void {
        const other = this.#other;
        const written = other && other.#written;
        if (!other || !written) return;
        other.#written = undefined;
        written();
    }

    override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
        if (this.#other?.destroyed !== false || this.#other.push(bytes)) done();
        else this.#written = done;
    }

    override _final(done: () => void): void {
        this.#other?.push(null);
        done();
    }

    override _destroy(error: Error | null, done: (error: Error | null) => void): void {
        const other = this.#other;
        this.#other = undefined;
        if (other && !other.destroyed) setImmediate(() => other.destroy());
        done(error);
    }
}
