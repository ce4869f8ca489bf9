import type { Logins } from '../../access/logins.ts';
import { hashToken, parseExpiry, expiryText } from '../../access/tokens.ts';
import { cachedBy } from '../../core/cache.ts';
import { Fault } from '../../core/errors.ts';
import { ownOrigin } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import { isEnabled, type Row } from '../../database/tables.ts';
import { accountRow } from '../../objects/accounts.ts';
import type { Credentials } from './identify.ts';
import { localUser, nameOfUser } from './local-peers.ts';

export interface Identity {
  readonly user: string;
  /** The hash of the token that was used. */
  readonly token: string | undefined;
  /** The stored hash that the password was checked with. */
  readonly login: string | undefined;
  /** What the audit log should say of it. */
  readonly note: string;
}

const failure = (): Fault => new Fault('unauthenticated', 'Authentication failure');
const accessInterval = 60_000;
const userNamesKept = 60_000;
const expiryOf = cachedBy((row: Row) => parseExpiry(row['expire'] ?? ''));

/** Finds out who sent a request. A token counts alone if it is sent; otherwise account and password do. */
export class Authenticator {
  readonly #store: Store;
  readonly #logins: Logins;
  readonly #seen = new Map<string, number>();
  /** The token a connection sent last, since it mostly sends the same again. */
  readonly #hashes = new WeakMap<object, { readonly id: string; readonly hash: string }>();

  /** Names of the users of this machine. */
  readonly #users = new Map<number, Promise<string | undefined>>();
  readonly #usersAreAccounts: boolean;

  constructor(store: Store, logins: Logins, usersAreAccounts = false) {
    this.#store = store;
    this.#logins = logins;
    this.#usersAreAccounts = usersAreAccounts;
  }

  identify(
    { token, userName, userPW }: Omit<Credentials, 'hint'>,
    address: string,
    connection: object,
  ): Identity | Promise<Identity> {
    if (token !== undefined) return this.#byToken(this.#hashOf(token, connection));
    const local = userName || userPW ? undefined : localUser(connection);
    if (local !== undefined) return this.#byUser(local);
    if (!userName || !userPW) throw failure();
    return this.#byPassword(userName, userPW, address, connection);
  }

  /** Root of this machine is the account root; others are accounts only where that is wanted. */
  #byUser(user: number): Identity | Promise<Identity> {
    if (user === 0) return this.#asAccount('root');
    if (!this.#usersAreAccounts)
      throw new Fault('unauthenticated', [
        'Authentication failure',
        'Only root of this machine needs no login here. Log in with "muster login", or have the setting socket.accounts switched on.',
      ]);
    let name = this.#users.get(user);
    if (!name) {
      if (this.#users.size > 10_000) this.#users.clear();
      this.#users.set(user, (name = nameOfUser(user)));
      setTimeout(() => this.#users.delete(user), userNamesKept).unref();
    }
    return name.then((found) => {
      if (found === undefined) throw failure();
      return this.#asAccount(found);
    });
  }

  #asAccount(name: string): Identity {
    if (!accountRow(this.#store.current, name))
      throw new Fault('unauthenticated', [
        'Authentication failure',
        `There is no account "${name}" for you; somebody with full rights can make it.`,
      ]);
    return { user: name, token: undefined, login: undefined, note: 'by the socket of this machine' };
  }

  #hashOf(id: string, connection: object): string {
    const last = this.#hashes.get(connection);
    if (last?.id === id) return last.hash;
    const hash = hashToken(id);
    this.#hashes.set(connection, { id, hash });
    return hash;
  }

  #byToken(token: string): Identity {
    const { current } = this.#store;
    const row = current.get('token', token);
    if (!row || !isEnabled(row) || !row['username']) throw failure();
    const now = Date.now();
    if (!(expiryOf(row) > now)) throw failure();
    // Its tokens went with an account that is gone, unless something else than muster wrote the tables.
    if (!accountRow(current, row['username'])) throw failure();
    if (now - (this.#seen.get(token) ?? 0) > accessInterval) this.#noteAccess(token, now);
    return { user: row['username'], token, login: undefined, note: '' };
  }

  #byPassword(name: string, password: string, address: string, connection: object): Identity | Promise<Identity> {
    const { current } = this.#store;
    const account = accountOf(current, name);
    const hashLogin = current.get('site', 'hashlogin')?.['value']?.toLowerCase() !== 'no';
    const result = this.#logins.check(name, password, address, account, hashLogin, connection);
    const identity = (how: string): Identity => ({
      user: name,
      token: undefined,
      login: account?.stored,
      note: how === 'hash' ? 'by stored hash' : '',
    });
    if (!(result instanceof Promise)) return identity(result.how);
    return result.then(({ how }) => {
      // The check may have waited; the account must still be what was checked.
      if (accountOf(this.#store.current, name)?.stored !== account?.stored) throw failure();
      return identity(how);
    });
  }

  /** The time of a token's last use, written at most once a minute. */
  #noteAccess(token: string, now: number): void {
    if (this.#seen.size > 100_000) this.#seen.clear();
    this.#seen.set(token, now);
    const write = this.#store.change(ownOrigin('token-access'), (head) => {
      if (!head.get('token', token)) return [];
      const draft = new Draft(head);
      draft.merge('token', token, { access: expiryText(new Date(now)) });
      return draft.changes();
    });
    // A failed write shows in the store's health; the request itself does not depend on it.
    write.catch(() => this.#seen.delete(token));
  }
}

function accountOf(snapshot: Snapshot, name: string): { name: string; stored: string } | undefined {
  const stored = accountRow(snapshot, name)?.['password'];
  return stored ? { name, stored } : undefined;
}
