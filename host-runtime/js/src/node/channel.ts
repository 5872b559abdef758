/** Messages between threads, by broadcast channels. */

import { BroadcastChannel, receiveMessageOnPort, type MessagePort } from 'node:worker_threads';

/** Sends one message. */
export function broadcast(name: string, message?: unknown): void {
    const channel = new BroadcastChannel(name);
    channel.postMessage(message);
    channel.close();
}

/** A channel for a thread that doesn't return to its event loop. */
export class Inbox<Message> {
    readonly #channel: BroadcastChannel;

    constructor(name: string) {
        this.#channel = new BroadcastChannel(name);
        this.#channel.unref();
    }

    /** Calls `take` with each message that has come. */
    receive(take: (message: Message) => void): void {
        // The function accepts broadcast channels, too, which its types don't say.
        const port = this.#channel as unknown as MessagePort;
        for (let received; (received = receiveMessageOnPort(port)); ) take(received.message as Message);
    }

    close(): void {
        this.#channel.close();
    }
}
