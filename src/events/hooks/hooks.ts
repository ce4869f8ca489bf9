import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { SecretBox } from '../../access/secrets.ts';
import { type EventKind, eventKinds } from '../../core/event-kinds.ts';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { SortedMap } from '../../database/sorted-map.ts';
import type { Store } from '../../database/store.ts';
import { isEnabled, type Row } from '../../database/tables.ts';
import type { EventHub } from '../hub.ts';
import { HookQueue } from './hook-queue.ts';
import { push, ReceiverGuard } from './push.ts';
import { programFile, runProgram } from './run-program.ts';
import type { HookSettings } from '../settings.ts';

interface HookServices {
  readonly store: Store;
  readonly events: Pick<EventHub, 'attach'>;
  readonly box: SecretBox;
  readonly log: Logger;
}

interface Running {
  readonly row: Row;
  readonly queue: HookQueue;
  end(): void;
}

/** More rows of the table are not looked at. */
const mostHooks = 100;

/** Pushes events to those that table `hooks` names, as URLs or programs. */
export class Hooks {
  readonly #settings: HookSettings;
  readonly #services: HookServices;
  readonly #guard: ReceiverGuard;
  readonly #ca: readonly string[] | undefined;
  readonly #running = new Map<string, Running>();
  #rows: SortedMap<Row> | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(settings: HookSettings, services: HookServices) {
    this.#settings = settings;
    this.#services = services;
    this.#guard = new ReceiverGuard(settings.networks);
    this.#ca = settings.ca === undefined ? undefined : [...rootCertificates, readFileSync(settings.ca, 'utf8')];
  }

  /** Begins to push, until `close`; then it may begin again. */
  resume(): void {
    const { store } = this.#services;
    this.#unsubscribe = store.subscribe((current) => this.#look(current));
    this.#look(store.current);
  }

  close(): void {
    this.#unsubscribe?.();
    for (const { end } of this.#running.values()) end();
    this.#running.clear();
    this.#rows = undefined;
  }

  /** By hook, for whoever counts. */
  *counts(): Iterable<{ hook: string; waiting: number; delivered: number; failed: number; dropped: number }> {
    for (const [hook, { queue }] of this.#running) yield { hook, waiting: queue.waiting, ...queue.counts };
  }

  #look(current: Snapshot): void {
    const rows = current.rows('hooks');
    if (rows === this.#rows) return;
    this.#rows = rows;
    for (const [name, { row, end }] of this.#running) {
      if (rows.get(name) === row) continue;
      end();
      this.#running.delete(name);
    }
    for (const [name, row] of rows.entries()) {
      if (this.#running.has(name) || !isEnabled(row)) continue;
      if (this.#running.size >= mostHooks) {
        this.#services.log.warn(`There are more than ${mostHooks} hooks; "${name}" and those after it are not used.`);
        return;
      }
      this.#begin(name, row);
    }
  }

  #begin(name: string, row: Row): void {
    const { events, log } = this.#services;
    let hasFailed = false;
    const queue = new HookQueue(
      async (batch) => {
        await this.#deliver(name, row, batch);
        if (hasFailed) log.info({ hook: name }, 'the hook takes events again');
        hasFailed = false;
      },
      (error, isGivenUp) => {
        if (!hasFailed || isGivenUp)
          log.warn(
            { hook: name },
            `events could not be pushed${isGivenUp ? ' and were given up' : ''}: ${reasonOf(error)}`,
          );
        hasFailed = true;
      },
    );
    const detach = events.attach({ kinds: kindsOf(row), range: row['noderange'] || undefined }, (some) =>
      queue.add(some),
    );
    const end = (): void => {
      detach();
      queue.close();
    };
    this.#running.set(name, { row, queue, end });
  }

  async #deliver(name: string, row: Row, batch: readonly string[]): Promise<void> {
    const milliseconds = this.#settings.seconds * 1_000;
    const body = `{"hook":${JSON.stringify(name)},"events":[${batch.join(',')}]}\n`;
    const { url, command, secret } = row;
    if (command) return runProgram(programFile(this.#settings.directory, command), name, body, milliseconds);
    if (!url) throw new Fault('invalid', 'it has neither a url nor a command; set one of them.');
    const opened = secret ? this.#services.box.open(secret, 'hooks.secret') : undefined;
    return push({ url, secret: opened, body, guard: this.#guard, ca: this.#ca, milliseconds });
  }
}

function kindsOf(row: Row): readonly EventKind[] {
  const wanted = (row['kinds'] ?? '').split(',').map((kind) => kind.trim());
  const kinds = eventKinds.filter((kind) => wanted.includes(kind));
  return kinds.length === 0 ? eventKinds : kinds;
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
