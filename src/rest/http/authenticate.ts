import type { Account, Logins } from '../../access/logins.ts';
import { scopeOf, type TokenScope } from '../../access/token-scope.ts';
import { hashToken, isLimitedToken, parseExpiry, storedTime } from '../../access/tokens.ts';
import type { SiteAccounts } from '../../accounts/index.ts';
import { cachedBy } from '../../core/cache.ts';
import { Fault } from '../../core/errors.ts';
import { ownOrigin } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';
import { isEnabled, type Row } from '../../database/tables.ts';
import { accountRow, knownAccount } from '../../objects/accounts.ts';
import type { Credentials } from './identify.ts';
import { localUser, nameOfUser } from './local-peers.ts';

export interface Identity {
  readonly user: string;
  /** What the token is limited to. */
  readonly scope: TokenScope | undefined;
  /** The hash of the token that was used. */
  readonly token: string | undefined;
  /** What the password was checked with: see `KnownAccount`. */
  readonly login: string | undefined;
  /** What the audit log should say of it. */
  readonly note: string;
  /** Of a browser's session: what its page has to show. */
  readonly csrf?: string;
}

const failure = (): Fault => new Fault('unauthenticated', 'Authentication failure');
const accessInterval = 60_000;
const userNamesKept = 60_000;
const expiryOf = cachedBy((row: Row) => parseExpiry(row['expire'] ?? ''));

/** Finds out who sent a request. A token counts alone if it is sent; otherwise account and password do. */
export class Authenticator {
  readonly #store: Store;
  readonly #logins: Logins;
  readonly #siteAccounts: SiteAccounts;
  readonly #seen = new Map<string, number>();
  /** The token a connection sent last, since it mostly sends the same again. */
  readonly #hashes = new WeakMap<object, { readonly id: string; readonly hash: string }>();

  /** Names of the users of this machine. */
  readonly #users = new Map<number, Promise<string | undefined>>();
  readonly #usersAreAccounts: boolean;

  constructor(store: Store, logins: Logins, siteAccounts: SiteAccounts, usersAreAccounts = false) {
    this.#store = store;
    this.#logins = logins;
    this.#siteAccounts = siteAccounts;
    this.#usersAreAccounts = usersAreAccounts;
  }

  identify(
    { token, userName, userPW }: Pick<Credentials, 'token' | 'userName' | 'userPW'>,
    address: string,
    connection: object,
  ): Identity | Promise<Identity> {
    if (token !== undefined) return this.#byKnownToken(this.#hashOf(token, connection), isLimitedToken(token));
    const local = userName || userPW ? undefined : localUser(connection);
    if (local !== undefined) return this.#byUser(local);
    if (!userName || !userPW) throw failure();
    return this.#byPassword(userName, userPW, address, connection);
  }

  /** Root of this machine is the account root; others are accounts only where that is wanted. */
  #byUser(user: number): Identity | Promise<Identity> {
    if (user === 0) return this.#asAccount('root', user);
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
      return this.#asAccount(found, user);
    });
  }

  #asAccount(name: string, user: number): Identity {
    const { current } = this.#store;
    const account = knownAccount(current, name);
    // Of the site's accounts only those of this machine are its users: elsewhere, somebody else may have the name.
    const isUser = account?.login === `pam uid ${user}` && this.#siteAccounts.ended(current, name) === undefined;
    const isOurs = account?.source === '' || isUser;
    if (!isOurs)
      throw new Fault('unauthenticated', [
        'Authentication failure',
        `There is no account "${name}" for you; somebody with full rights can make it.`,
      ]);
    return { user: name, scope: undefined, token: undefined, login: undefined, note: 'by the socket of this machine' };
  }

  #hashOf(id: string, connection: object): string {
    const last = this.#hashes.get(connection);
    if (last?.id === id) return last.hash;
    const hash = hashToken(id);
    this.#hashes.set(connection, { id, hash });
    return hash;
  }

  /** Another server may have given it a moment ago. */
  #byKnownToken(token: string, isLimited: boolean): Identity | Promise<Identity> {
    const { current, database } = this.#store;
    if (current.get('token', token) || database.shared.isAlone) return this.#byToken(token, isLimited);
    return this.#store.refresh().then(() => this.#byToken(token, isLimited));
  }

  #byToken(token: string, isLimited: boolean): Identity {
    const { current } = this.#store;
    const row = current.get('token', token);
    if (!row || !isEnabled(row) || !row['username']) throw failure();
    const scope = scopeOf(row);
    // One that was made with limits is nothing without them.
    if (isLimited !== (scope !== undefined)) throw failure();
    const now = Date.now();
    if (!(expiryOf(row) > now)) throw failure();
    // Its tokens went with an account that is gone, unless something else than muster wrote the tables.
    const account = knownAccount(current, row['username']);
    if (!account) throw failure();
    if (account.source !== '') {
      const why = this.#siteAccounts.ended(current, row['username']);
      if (why !== undefined) throw new Fault('unauthenticated', ['Authentication failure', why]);
    }
    if (now - (this.#seen.get(token) ?? 0) > accessInterval) this.#noteAccess(token, now);
    const note = scope ? `token ${scope.id}` : '';
    return { user: row['username'], scope, token, login: undefined, note };
  }

  #byPassword(typed: string, password: string, address: string, connection: object): Identity | Promise<Identity> {
    const { current } = this.#store;
    const account = this.#accountOf(typed, password, address);
    const name = account?.name ?? typed;
    const hashLogin = current.get('site', 'hashlogin')?.['value']?.toLowerCase() !== 'no';
    const result = this.#logins.check(name, password, address, account, hashLogin, connection);
    const identity = (how: string, login: string): Identity => ({
      user: name,
      scope: undefined,
      token: undefined,
      login,
      note: how === 'hash' ? 'by stored hash' : '',
    });
    if (!(result instanceof Promise)) return identity(result.how, result.stored);
    return result.then(({ how, stored }) => {
      // The check may have waited; the account must still be what was checked.
      if (knownAccount(this.#store.current, name)?.login !== stored) throw failure();
      return identity(how, stored);
    });
  }

  /** The account that somebody means, with the way to check it; table passwd comes first. */
  #accountOf(typed: string, password: string, address: string): Account | undefined {
    const { current } = this.#store;
    const stored = accountRow(current, typed)?.['password'];
    if (stored) return { name: typed, stored };
    const sites = this.#siteAccounts;
    const name = sites.checksPasswords ? sites.nameOf(current, typed) : undefined;
    if (name === undefined) return undefined;
    const elsewhere = {
      rememberFor: sites.settings.remember * 1_000,
      check: () => sites.check(name, password, address),
    };
    const isGood = sites.ended(current, name) === undefined;
    return { name, stored: (isGood && knownAccount(current, name)?.login) || '', elsewhere };
  }

  /** The time of a token's last use, written at most once a minute. */
  #noteAccess(token: string, now: number): void {
    if (this.#seen.size > 100_000) this.#seen.clear();
    this.#seen.set(token, now);
    const write = this.#store.observe(ownOrigin('token-access'), (head) => {
      if (!head.get('token', token)) return [];
      const draft = new Draft(head);
      draft.merge('token', token, { access: storedTime(new Date(now)) });
      return draft.changes();
    });
    // A failed write shows in the store's health; the request itself does not depend on it.
    write.catch(() => this.#seen.delete(token));
  }
}
