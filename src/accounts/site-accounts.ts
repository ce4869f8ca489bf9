import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { cachedBy } from '../core/cache.ts';
import { ownOrigin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { SortedMap } from '../database/sorted-map.ts';
import type { Store } from '../database/store.ts';
import { isEnabled, type Row } from '../database/tables.ts';
import { accountKey, knownAccount } from '../objects/accounts.ts';
import type { AccountSettings } from './settings.ts';
import { Slots } from './slots.ts';
import {
  type AccountSource,
  checksPasswords,
  foldedName,
  type FoundAccount,
  type PasswordSource,
  siteAccountName,
} from './sources.ts';

/** Groups of one account. Whoever is in more has groups that no rule names; settings of the source leave these out. */
const mostGroups = 2_000;
const longestGroup = 128;
/** When a source was asked is noted that often, so that logins write little. */
const noteInterval = 60_000;

interface Parts {
  readonly store: Store;
  readonly log: Logger;
}

const namesInPasswd = cachedBy(
  (rows: SortedMap<Row>) =>
    new Set(rows.values().flatMap((row) => (row['key'] === accountKey ? foldedName(row['username'] ?? '') : []))),
);

/**
 * Accounts of the site. Whoever has logged in has a row of table siteaccount, which says where the account comes from, whose it is there, and
 * its groups; rights follow from that row wherever the database is read. Names in table passwd are never asked for.
 */
export class SiteAccounts {
  readonly settings: AccountSettings;
  /** In the order in which they are asked. */
  readonly sources: readonly AccountSource[];
  readonly #store: Store;
  readonly #log: Logger;
  readonly #slots: ReadonlyMap<AccountSource, Slots>;

  constructor(settings: AccountSettings, sources: readonly AccountSource[], { store, log }: Parts) {
    this.settings = settings;
    this.sources = sources;
    this.#store = store;
    this.#log = log;
    this.#slots = new Map(sources.map((source) => [source, new Slots(settings.parallel)]));
  }

  /** Whether some source checks passwords. */
  get checksPasswords(): boolean {
    return this.sources.some(checksPasswords);
  }

  /** The account of the site that somebody means by what they typed; undefined if no source may be asked for it. */
  nameOf(snapshot: Snapshot, typed: string): string | undefined {
    const name = siteAccountName(typed);
    if (name === undefined || (name === 'root' && !this.settings.root)) return undefined;
    return namesInPasswd(snapshot.rows('passwd')).has(name) ? undefined : name;
  }

  /** Why a token of the account is good no longer; undefined if it is. */
  ended(snapshot: Snapshot, name: string): string | undefined {
    const account = knownAccount(snapshot, name);
    if (account?.source === '') return undefined;
    const source = this.sources.find(({ name: of }) => of === account?.source);
    if (!account || !source) return 'The source of this account is not in use here any more.';
    if (name === 'root' && !this.settings.root) return 'An account of the site must not be called root here.';
    return this.isTooOld(snapshot.get('siteaccount', name)!)
      ? 'The source of this account could not be asked for too long. Log in again.'
      : undefined;
  }

  /** Whether the source was asked last before all that counts. */
  isTooOld({ checked = '' }: Row): boolean {
    return !(Date.now() - Date.parse(checked) < this.settings.keep * 1_000);
  }

  /** What the account is then known by (`KnownAccount.login`), if some source finds the password right. `name` is one that `nameOf` gave. */
  async check(name: string, password: string, client: string): Promise<string | undefined> {
    // To a directory, a login without a password is one of nobody, and succeeds.
    if (password === '') return undefined;
    let unavailable: Error | undefined;
    for (const [i, source] of this.sources.entries()) {
      if (!checksPasswords(source)) continue;
      // While a source is away, only accounts that are known to be of a later one are asked for there.
      if (unavailable !== undefined && this.#knownSource(name) !== source.name) continue;
      let found: Awaited<ReturnType<PasswordSource['check']>>;
      try {
        found = await this.#slots.get(source)!.take(() => source.check(name, password, client));
      } catch (error) {
        unavailable ??= error as Error;
        continue;
      }
      if (found === undefined) continue;
      return found === 'wrong' ? undefined : this.admit(source, name, found, i);
    }
    if (unavailable !== undefined) throw unavailable;
    return undefined;
  }

  /**
   * Notes what a source has said of somebody who has just logged in, and answers what the account is known by. A name belongs to the first
   * source that has it: those before this one are asked, but for the first `asked`.
   */
  async admit(source: AccountSource, name: string, found: FoundAccount, asked = 0): Promise<string> {
    const earlier = this.sources.slice(asked, this.sources.indexOf(source)).filter(checksPasswords);
    for (const other of earlier)
      if (await other.has(name)) throw new Fault('unauthenticated', ['Authentication failure', takenBy(name, other)]);
    const groups = this.#groupsIn(source, name, found);
    const was = this.#store.current.get('siteaccount', name);
    const columns = { username: name, source: source.name, id: found.id, groups, disable: undefined };
    const isSame = was && isEnabled(was) && was['source'] === source.name && was['id'] === found.id;
    if (isSame && (was['groups'] ?? '') === groups) this.noteChecked([name]);
    else
      await this.#store.change(ownOrigin('site-accounts'), (head) => {
        if (this.nameOf(head, name) === undefined) throw new Fault('unauthenticated', 'Authentication failure');
        const draft = new Draft(head);
        draft.merge('siteaccount', name, { ...columns, checked: new Date().toISOString() });
        return draft.changes();
      });
    const { login } = knownAccount(this.#store.current, name) ?? {};
    if (login === undefined) throw new Fault('unauthenticated', 'Authentication failure');
    return login;
  }

  /** Takes over what a source has said of an account that is known: `undefined`, that it is gone. */
  async update(source: AccountSource, name: string, found: FoundAccount | undefined): Promise<void> {
    const was = this.#store.current.get('siteaccount', name);
    if (!was || !isEnabled(was) || was['source'] !== source.name) return;
    const groups = found && this.#groupsIn(source, name, found);
    // Somebody else has the name there now. Who that is shows when they log in.
    if (found?.id !== was['id'] || groups === undefined) return this.end(name, was, `${source.name} has it no longer`);
    if (groups === (was['groups'] ?? '')) return this.noteChecked([name]);
    await this.#store.change(ownOrigin('site-accounts'), (head) => {
      const draft = new Draft(head);
      if (isSamePerson(head.get('siteaccount', name), was))
        draft.merge('siteaccount', name, { groups, checked: new Date().toISOString() });
      return draft.changes();
    });
  }

  /** Ends all that an account has here: its tokens, and its rights in what is under way. */
  async end(name: string, was: Row, why: string): Promise<void> {
    await this.#store.change(ownOrigin('site-accounts'), (head) => {
      const draft = new Draft(head);
      if (isSamePerson(head.get('siteaccount', name), was)) draft.merge('siteaccount', name, { disable: '1' });
      return draft.changes();
    });
    this.#log.info(`The account ${name} has ended: ${why}.`);
  }

  /** The sources have been asked for these accounts, and nothing has changed. */
  noteChecked(names: readonly string[]): void {
    const now = Date.now();
    const interval = Math.min(noteInterval, (this.settings.keep * 1_000) / 4);
    const isNoted = (row: Row | undefined): boolean =>
      !row || !isEnabled(row) || now - Date.parse(row['checked'] ?? '') < interval;
    if (names.every((name) => isNoted(this.#store.current.get('siteaccount', name)))) return;
    const write = this.#store.observe(ownOrigin('site-accounts'), (head) => {
      const draft = new Draft(head);
      for (const name of names)
        if (!isNoted(head.get('siteaccount', name)))
          draft.merge('siteaccount', name, { checked: new Date(now).toISOString() });
      return draft.changes();
    });
    // A failed write shows in the store's health; the next check writes again.
    write.catch(() => undefined);
  }

  #knownSource(name: string): string | undefined {
    return knownAccount(this.#store.current, name)?.source;
  }

  /** One column's text. Names that a list cannot hold are no groups that a rule could name. */
  #groupsIn(source: AccountSource, name: string, { groups }: FoundAccount): string {
    const usable = [...new Set(groups)].filter((group) => isGroupName(group)).sort();
    if (usable.length <= mostGroups) return usable.join();
    // To leave some out would forget rules that refuse.
    throw new Fault('unavailable', [
      `The account ${name} is in ${usable.length} groups of ${source.name}, which is more than ${mostGroups}.`,
      'Let somebody with full rights narrow the groups that muster reads.',
    ]);
  }

  close(): void {
    for (const source of this.sources) source.close();
  }
}

const isGroupName = (group: string): boolean =>
  // oxlint-disable-next-line no-control-regex -- these are what a name must not have
  group !== '' && group.length <= longestGroup && !/[,\u0000-\u001f\u007f]/.test(group);

const isSamePerson = (now: Row | undefined, was: Row): boolean =>
  now !== undefined && isEnabled(now) && now['source'] === was['source'] && now['id'] === was['id'];

const takenBy = (name: string, { name: source }: AccountSource): string =>
  `The name ${name} belongs to another account here, one of ${source}.`;
