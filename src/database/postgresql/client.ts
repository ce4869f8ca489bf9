import { Client, type ClientBase, type ClientConfig } from 'pg';
import { Fault } from '../../core/errors.ts';
import { clientConfig, isPrivate, type PostgresPlace, shownPlace } from './place.ts';

/** For work that may take as long as it does. */
export const patient: ClientConfig = {
  statement_timeout: 0,
  query_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
};

/** A client that is not connected yet. One that is lost while nobody waits for its answer tells whoever asks next. */
export function newClient(place: PostgresPlace, others: ClientConfig = {}): Client {
  const Guarded = clientClass(place);
  const client = new Guarded({ ...clientConfig(place), ...others });
  client.on('error', () => undefined);
  return client;
}

/** Cuts a connection whose other end may not answer for minutes; whoever waits for an answer hears of it at once. */
export const cutOff = (client: ClientBase): void => {
  (client as unknown as Internals).connection.stream.destroy();
};

/** The same for one that is nobody else's. */
export function drop(client: Client): void {
  void client.end().catch(() => undefined);
  cutOff(client);
}

interface Internals {
  readonly connection: NodeJS.EventEmitter & { readonly stream: { destroy(error?: Error): void } };
}

/**
 * The class of clients of a place. PostgreSQL says how the password is to be shown to it. Where somebody else may answer in its place, only
 * a way is used that shows nothing of the password: SCRAM.
 */
export function clientClass(place: PostgresPlace): typeof Client {
  if (isPrivate(place)) return Client;
  return class extends Client {
    constructor(config?: string | ClientConfig) {
      super(config);
      const { connection } = this as unknown as Internals;
      for (const way of ['authenticationCleartextPassword', 'authenticationMD5Password'])
        connection.prependListener(way, () => connection.stream.destroy(refused(place)));
    }
  };
}

const refused = (place: PostgresPlace): Fault =>
  new Fault(
    'unavailable',
    `What answers at ${shownPlace(place)} asks for the password in a form that shows it to others, and did not get it. ` +
      'Let PostgreSQL use scram-sha-256 (password_encryption and pg_hba.conf), or reach it by TLS or by its socket (?host=DIRECTORY).',
    { retryAfter: 5 },
  );
