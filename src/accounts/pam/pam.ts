import { existsSync } from 'node:fs';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { FoundAccount, PasswordSource, SourceState } from '../sources.ts';
import { PamHelpers } from './helpers.ts';
import { pamCodes } from './library.ts';
import type { PamSettings } from './settings.ts';
import { groupsOfUser, isLocked, type MachineUser, machineUser } from './users.ts';

/** Users of this machine, checked by PAM. Whom its name service does not know has no account. */
export class PamSource implements PasswordSource {
  readonly name = 'pam';
  readonly #settings: PamSettings;
  readonly #helpers: PamHelpers;
  readonly #log: Logger;

  constructor(settings: PamSettings, log: Logger) {
    this.#settings = settings;
    this.#helpers = new PamHelpers(settings.timeout * 1_000);
    this.#log = log;
  }

  async check(name: string, password: string, client: string): Promise<FoundAccount | 'wrong' | undefined> {
    const user = await machineUser(name);
    if (!user) return undefined;
    // C ends texts there.
    if (password.includes('\0')) return 'wrong';
    return (await this.#passes(user, password, client)) ? this.#found(user) : 'wrong';
  }

  async has(name: string): Promise<boolean> {
    return (await machineUser(name)) !== undefined;
  }

  async look(name: string): Promise<FoundAccount | undefined> {
    const user = await machineUser(name);
    if (!user || (await isLocked(user)) || !(await this.#passes(user))) return undefined;
    return this.#found(user);
  }

  async states(): Promise<readonly SourceState[]> {
    const { service } = this.#settings;
    const problem = this.#problem();
    return [{ name: `service ${service}`, problem, says: 'is set up' }];
  }

  close(): void {
    this.#helpers.close();
  }

  async #found(user: MachineUser): Promise<FoundAccount> {
    return { id: `uid ${user.uid}`, groups: await groupsOfUser(user) };
  }

  async #passes({ name }: MachineUser, password?: string, client?: string): Promise<boolean> {
    const { service } = this.#settings;
    const problem = this.#problem();
    if (problem !== undefined) throw this.#unavailable(problem);
    let answer: Awaited<ReturnType<PamHelpers['ask']>>;
    try {
      answer = await this.#helpers.ask({ service, user: name, password, client });
    } catch (error) {
      throw this.#unavailable((error as Error).message);
    }
    const { step, code, says } = answer;
    if (code === pamCodes.success) return true;
    if (step === 'start' || broken.has(code)) throw this.#unavailable(says);
    return false;
  }

  /** Where the service has no file, PAM would take the rules of another. */
  #problem(): string | undefined {
    const { service } = this.#settings;
    return ['/etc/pam.d', '/usr/lib/pam.d'].some((directory) => existsSync(`${directory}/${service}`))
      ? undefined
      : `/etc/pam.d/${service} is missing`;
  }

  #unavailable(problem: string): Fault {
    this.#log.warn(`PAM could not be asked: ${problem}.`);
    return new Fault(
      'unavailable',
      [
        'The users of this machine cannot be checked now, so they cannot log in with a password.',
        'Tokens and accounts of muster work; try again in a moment.',
      ],
      { retryAfter: 5 },
    );
  }
}

/** What says nothing of the user: a module is missing or could not do its work. */
const broken = new Set([
  1, // a library cannot be opened
  2, // a symbol is missing
  3, // a service module failed
  4, // a system error
  5, // no memory
  9, // the information about accounts cannot be had
]);
