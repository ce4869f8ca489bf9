import type { Transport } from './transport.ts';

/** What a datagram takes from the buffer of a socket, in bytes: some network cards give each half a page. */
export const perAnswer = 2_304;
/** With the smallest buffers that systems have, enough for all sessions that are worked on at a time. */
const mostSockets = 64;

/**
 * The sockets of an address family, shared by all sessions. Each session has at most one answer under way, so a socket with no more
 * sessions than its buffer takes answers loses none of them, however long this process has no time to read: the system drops what
 * comes when the buffer is full. How large a buffer may be is up to the system; often one socket is enough.
 */
export class Sockets {
  readonly #open: () => Promise<Transport>;
  readonly #all: { readonly transport: Transport; readonly room: number; users: number }[] = [];
  #opening: Promise<void> | undefined;

  constructor(open: () => Promise<Transport>) {
    this.#open = open;
  }

  /** A socket for one session more; `leave` it when that has ended. */
  async join(): Promise<Transport> {
    for (;;) {
      const found = this.#roomiest();
      if (found && (found.users < found.room || this.#all.length >= mostSockets)) {
        found.users++;
        return found.transport;
      }
      this.#opening ??= this.#openOne().finally(() => {
        this.#opening = undefined;
      });
      await this.#opening;
    }
  }

  leave(transport: Transport): void {
    const found = this.#all.find((socket) => socket.transport === transport);
    if (found) found.users--;
  }

  /** One for packets that belong to no session. */
  async any(): Promise<Transport> {
    const transport = await this.join();
    this.leave(transport);
    return transport;
  }

  #roomiest() {
    let best = this.#all[0];
    for (const socket of this.#all) if (best && socket.room - socket.users > best.room - best.users) best = socket;
    return best;
  }

  async #openOne(): Promise<void> {
    const transport = await this.#open();
    const room = Math.max(1, Math.floor(transport.receiveBuffer / perAnswer));
    this.#all.push({ transport, room, users: 0 });
  }
}
