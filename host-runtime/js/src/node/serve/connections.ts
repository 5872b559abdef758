/** Limits the open connections, so that idle or slow clients don't block others. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Each connection may need another file or connection; systems allow a process 1,024 of these. */
const MAX_CONNECTIONS = 400;

/** When the limit is reached, ends the least recently used connection without a request, or the least recently used one. */
export function limitConnections(server: Server): void {
    /** Whether a request is being answered, for each connection; the most recently used one is last. */
    const isBusy = new Map<Socket, boolean>();
    const use = (socket: Socket, busy: boolean): void => {
        if (isBusy.delete(socket)) isBusy.set(socket, busy);
    };
    const endOne = (): void => {
        const open = [...isBusy];
        const [socket] = open.find(([, busy]) => !busy) ?? open[0]!;
        isBusy.delete(socket);
        socket.destroy();
    };
    server.on('connection', (socket: Socket) => {
        if (isBusy.size >= MAX_CONNECTIONS) endOne();
        isBusy.set(socket, false);
        socket.on('close', () => isBusy.delete(socket));
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
        use(socket, true);
        response.on('close', () => use(socket, false));
    });
    server.on('upgrade', ({ socket }: IncomingMessage) => use(socket, true));
}
