import type { Client } from 'pg';
import { Fault } from '../../core/errors.ts';
import { drop, newClient } from './client.ts';
import { isLost, type PostgresPlace } from './place.ts';

/** One connection that is made when it is needed, and again after it was lost. Work on it is done one after the other. */
export class Connection {
  readonly #place: PostgresPlace;
  #client: Client | undefined;
  #connecting: Promise<Client> | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(place: PostgresPlace) {
    this.#place = place;
  }

  /** The number of the process that serves it, while there is one. */
  get processId(): number | undefined {
    return (this.#client as { processID?: number } | undefined)?.processID;
  }

  use<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const result = this.#turn.then(() => this.#use(work));
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #use<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      const client = await this.#connected();
      return await work(client);
    } catch (error) {
      if (isLost(error)) this.drop();
      throw error;
    }
  }

  async #connected(): Promise<Client> {
    if (this.#isClosed) throw new Fault('unavailable', 'The database was closed.');
    if (this.#client) return this.#client;
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return (this.#client = await this.#connecting);
  }

  async #connect(): Promise<Client> {
    const client = await this.another();
    client.on('error', () => {
      if (this.#client === client) this.drop();
    });
    return client;
  }

  /** A connection that is the caller's, to end it. */
  async another(): Promise<Client> {
    const client = newClient(this.#place);
    await client.connect();
    return client;
  }

  /** The next work gets another connection. */
  drop(): void {
    const client = this.#client;
    this.#client = undefined;
    if (client) drop(client);
  }

  async close(): Promise<void> {
    await this.#turn;
    this.#isClosed = true;
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }
}
