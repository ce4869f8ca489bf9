import { readFileSync } from 'node:fs';
import { type Client, type Entry, ResultCodeError } from 'ldapts';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { FoundAccount, PasswordSource, SourceState } from '../sources.ts';
import { atServer } from './connection.ts';
import { filledFilter, groupsOfEntry } from './groups.ts';
import { escapeNamePart } from './names.ts';
import { binaryAttributes, idOf, isCalled, isDisabled, personAttributes } from './person.ts';
import type { LdapSettings } from './settings.ts';

/** Milliseconds for which a server that did not answer is asked after all others, and for which nobody is asked if none did. */
const avoidedFor = 30_000;
const quietFor = 3_000;

/** What a directory answers to a password that is not right, or not good enough for its rules. */
const refusals = new Set([
  49, // invalid credentials
  48, // inappropriate authentication: the entry has no password
  53, // unwilling to perform
  50, // insufficient access
  19, // constraint violation: locked
  32, // no such object
  34, // no such name: of a template
]);
const noSuchObject = 32;
/** What is wrong with a server, or with the settings for all accounts. */
const troubles = new Set([
  8, // stronger authentication required
  13, // confidentiality required
  49, // invalid credentials: those of muster
  51, // busy
  52, // unavailable
]);

/** Accounts of a directory. */
export class LdapSource implements PasswordSource {
  readonly name = 'ldap';
  readonly #settings: LdapSettings;
  readonly #log: Logger;
  /** By server, until when others are asked first. */
  readonly #avoided = new Map<string, number>();
  #quietUntil = 0;

  constructor(settings: LdapSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
  }

  /** Whether accounts log in as an entry whose name follows from theirs. Then the directory does not say whether it has an account. */
  get #isDirect(): boolean {
    return this.#settings.userDn !== undefined;
  }

  async check(name: string, password: string): Promise<FoundAccount | 'wrong' | undefined> {
    return this.#ask(name, async (url) => {
      if (this.#isDirect) return this.#checkDirectly(url, name, password);
      return this.#at(url, async (client) => {
        const entries = await this.#entriesOf(client, name);
        const entry = this.#onlyOne(entries, name);
        if (!entry) return entries.length === 0 ? undefined : 'wrong';
        // On a connection of its own: what is asked after that is asked as muster. Strangers do not get as far as the groups.
        const isRight = await atServer(this.#server(url), (own) => mayLogIn(own, entry.dn, password));
        if (!isRight || isDisabled(entry)) return 'wrong';
        return { id: idOf(entry), groups: await groupsOfEntry(client, this.#settings, name, entry) };
      });
    });
  }

  async has(name: string): Promise<boolean> {
    this.#checkAsks();
    return this.#ask(name, (url) => this.#at(url, async (client) => (await this.#entriesOf(client, name)).length > 0));
  }

  async look(name: string): Promise<FoundAccount | undefined> {
    this.#checkAsks();
    return this.#ask(name, (url) =>
      this.#at(url, async (client) => {
        const entry = await this.#entryOf(client, name);
        if (!entry || isDisabled(entry)) return undefined;
        return { id: idOf(entry), groups: await groupsOfEntry(client, this.#settings, name, entry) };
      }),
    );
  }

  async states(): Promise<readonly SourceState[]> {
    const { servers = [], base, bindDn } = this.#settings;
    return Promise.all(
      servers.map(async (server) => {
        try {
          await this.#at(server, (client) => client.search(base!, { scope: 'base', attributes: ['1.1'] }));
          const as = bindDn === undefined ? 'without a login' : `as ${bindDn}`;
          return { name: server, problem: undefined, says: `answers ${as}` };
        } catch (error) {
          return { name: server, problem: reasonOf(error), says: '' };
        }
      }),
    );
  }

  close(): void {
    // Every connection ends with its question.
  }

  async #checkDirectly(url: string, name: string, password: string): Promise<FoundAccount | 'wrong'> {
    return atServer(this.#server(url), async (client) => {
      const dn = this.#dnOf(name);
      if (!(await mayLogIn(client, dn, password))) return 'wrong';
      const entry = await this.#entryOf(client, name);
      if (!entry || isDisabled(entry)) return 'wrong';
      return { id: idOf(entry), groups: await groupsOfEntry(client, this.#settings, name, entry) };
    });
  }

  #checkAsks(): void {
    if (this.#isDirect && this.#settings.bindDn === undefined)
      throw new Fault('unavailable', 'Without ldap.bindDn the directory says nothing of an account but to itself.');
  }

  #dnOf(name: string): string {
    return this.#settings.userDn!.replaceAll('{name}', () => escapeNamePart(name));
  }

  #server(url: string) {
    const { ca, timeout } = this.#settings;
    return { url, ca, timeout: timeout * 1_000 };
  }

  /** As the entry that muster looks up people as. */
  #at<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
    const { bindDn, bindPasswordFile } = this.#settings;
    return atServer(this.#server(url), async (client) => {
      if (bindDn !== undefined) {
        const password = readFileSync(bindPasswordFile!, 'utf8').replace(/\r?\n$/, '');
        if (password === '') throw new Error(`${bindPasswordFile} is empty`);
        await client.bind(bindDn, password);
      }
      return work(client);
    });
  }

  async #entryOf(client: Client, name: string): Promise<Entry | undefined> {
    return this.#onlyOne(await this.#entriesOf(client, name), name);
  }

  #onlyOne(entries: readonly Entry[], name: string): Entry | undefined {
    if (entries.length < 2) return entries[0];
    this.#log.warn(`The directory has ${entries.length} entries of the account ${name}, so nobody can log in as it.`);
    return undefined;
  }

  /** Referrals to other servers are not followed: nobody has said that these are to be trusted. */
  async #entriesOf(client: Client, name: string): Promise<readonly Entry[]> {
    const { base, nameAttribute, userFilter = `(${nameAttribute}={name})` } = this.#settings;
    const wanted = { attributes: personAttributes(nameAttribute), explicitBufferAttributes: binaryAttributes };
    if (this.#isDirect) {
      const found = await client.search(this.#dnOf(name), { ...wanted, scope: 'base' }).catch((error: unknown) => {
        if (error instanceof ResultCodeError && error.code === noSuchObject) return { searchEntries: [] };
        throw error;
      });
      return found.searchEntries.slice(0, 1);
    }
    const filter = filledFilter(userFilter, { name });
    const { searchEntries } = await client.search(base!, { ...wanted, scope: 'sub', filter, sizeLimit: 10 });
    return searchEntries.filter((entry) => isCalled(entry, nameAttribute, name));
  }

  /** Asks one server after the other until one answers. */
  async #ask<T>(name: string, work: (url: string) => Promise<T>): Promise<T> {
    const now = performance.now();
    if (now < this.#quietUntil) throw unavailable(this.#quietUntil - now);
    const { servers = [] } = this.#settings;
    const isAvoided = (url: string): boolean => (this.#avoided.get(url) ?? 0) > now;
    const inOrder = [...servers.filter((url) => !isAvoided(url)), ...servers.filter(isAvoided)];
    for (const url of inOrder) {
      try {
        const answer = await work(url);
        this.#avoided.delete(url);
        return answer;
      } catch (error) {
        if (error instanceof Fault) throw error;
        // It may be about this account only, and must cost nobody else anything.
        if (error instanceof ResultCodeError && !troubles.has(error.code)) {
          this.#log.warn(`The directory at ${url} could not be asked for the account ${name}: ${reasonOf(error)}.`);
          throw unavailable(quietFor);
        }
        if (!isAvoided(url)) this.#log.warn(`The directory at ${url} could not be asked: ${reasonOf(error)}.`);
        this.#avoided.set(url, performance.now() + avoidedFor);
      }
    }
    this.#quietUntil = performance.now() + quietFor;
    throw unavailable(quietFor);
  }
}

async function mayLogIn(client: Client, dn: string, password: string): Promise<boolean> {
  try {
    await client.bind(dn, password);
    return true;
  } catch (error) {
    if (error instanceof ResultCodeError && refusals.has(error.code)) return false;
    throw error;
  }
}

/** Strangers hear it too, so it says nothing of the servers; the log does. */
const unavailable = (milliseconds: number): Fault =>
  new Fault(
    'unavailable',
    [
      'The directory of the site cannot be asked now, so its accounts cannot log in with a password.',
      'Tokens and accounts of muster work; try again in a moment.',
    ],
    { retryAfter: Math.max(1, Math.ceil(milliseconds / 1_000)) },
  );

const reasonOf = (error: unknown): string => {
  if (!(error instanceof ResultCodeError)) return (error as Error).message.split('\n', 1)[0]!.replace(/\.$/, '');
  const known: Readonly<Record<number, string>> = {
    10: 'it refers to another server, which muster does not follow',
    32: 'it has nothing at ldap.base or ldap.groupBase',
    49: 'it refuses ldap.bindDn with the password in ldap.bindPasswordFile',
  };
  return known[error.code] ?? `it answers with ${error.name} (${error.code})`;
};
