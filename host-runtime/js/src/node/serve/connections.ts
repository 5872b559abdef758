/** Limits the open connections, so that clients that say nothing, or little at a time, keep nobody out. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Each may want a file or a connection to another server, and systems give a process 1,024 of all that. */
const MAX_CONNECTIONS = 400;

/** Ends the connection that was not used for the longest time when there is no room for another. Those without a request go first. */
export function limitConnections(server: Server): void {
    /** Whether a request is being answered. The connection that was used last is the last. */
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
