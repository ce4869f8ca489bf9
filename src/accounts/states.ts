import type { Logger } from '../core/log.ts';
import type { SiteAccounts } from './site-accounts.ts';
import type { SourceState } from './sources.ts';

const interval = 60_000;

/** A part of a source as this server sees it. */
interface Seen extends SourceState {
  readonly source: string;
}

/** Looks every minute whether this server can ask the sources. */
export class SourceStates {
  readonly #accounts: SiteAccounts;
  readonly #log: Logger;
  #seen: readonly Seen[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(accounts: SiteAccounts, log: Logger) {
    this.#accounts = accounts;
    this.#log = log;
    if (accounts.sources.length > 0) void this.#look();
  }

  /** As of the last look. */
  get seen(): readonly Seen[] {
    return this.#seen;
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const before = new Map(this.#seen.map(({ source, name, problem }) => [`${source} ${name}`, problem]));
    try {
      const found = await Promise.all(
        this.#accounts.sources.map(async (source) =>
          (await source.states()).map((state) => ({ ...state, source: source.name })),
        ),
      );
      this.#seen = found.flat();
    } catch (error) {
      this.#log.error({ err: error }, 'the sources of accounts could not be looked at');
    }
    for (const { source, name, problem } of this.#seen)
      if (problem !== undefined && problem !== before.get(`${source} ${name}`))
        this.#log.warn(`Accounts cannot be checked (${source}, ${name}): ${problem}.`);
    if (!this.#isOver) this.#timer = setTimeout(() => void this.#look(), interval).unref();
  }
}
