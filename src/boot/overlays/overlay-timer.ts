import { asTheyCome } from '../../core/as-they-come.ts';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { Store } from '../../database/store.ts';
import type { Remote, RemoteNodes } from '../../nodes/index.ts';
import { allNodes } from '../../objects/groups.ts';
import { bringOverlay, overlaysAtOnce } from './bring-overlay.ts';
import type { Overlays } from './node-overlay.ts';

interface TimerServices {
  readonly store: Pick<Store, 'current'>;
  readonly overlays: Overlays;
  readonly remote: Pick<Remote, 'targets' | 'fanOut'>;
  readonly connections: Pick<RemoteNodes, 'update'>;
  readonly log: Logger;
}

/** Node takes a longer one for none at all. */
const longestInterval = 2 ** 31 - 1;
/** Nodes that a line of the log names. */
const mostNamed = 10;

/** Brings nodes that have booted the files of their overlays again and again, one round after another. */
export class OverlayTimer {
  readonly #services: TimerServices;
  #over = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;

  constructor(services: TimerServices) {
    this.#services = services;
  }

  /** A round that takes longer than `seconds` is not overtaken by the next. Returns what stops it. */
  start(seconds: number): () => void {
    this.#over = new AbortController();
    this.#timer = setInterval(
      () => {
        this.#round ??= this.#goRound()
          .catch((error: unknown) => this.#services.log.error({ err: error }, 'overlays could not be brought to nodes'))
          .finally(() => (this.#round = undefined));
      },
      Math.min(seconds * 1_000, longestInterval),
    );
    return () => this.#stop();
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#round;
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#over.abort();
  }

  async #goRound(): Promise<void> {
    const { store, overlays, remote, log } = this.#services;
    const { signal } = this.#over;
    const snapshot = store.current;
    const isUp = (node: string): boolean => snapshot.get('nodelist', node)?.['status'] === 'booted';
    const nodes = allNodes(snapshot).filter((node) => isUp(node) && overlays.has(snapshot, node));
    const targets = remote.targets(snapshot, 'root');
    const bring = async (node: string): Promise<{ readonly node: string; readonly changed: number; why?: string }> => {
      try {
        const archive = await overlays.archive(snapshot, node);
        const lines = await this.#bring(node, await targets(node), archive, signal);
        return { node, changed: lines.length };
      } catch (error) {
        if (signal.aborted) return { node, changed: 0 };
        if (!(error instanceof Fault)) throw error;
        return { node, changed: 0, why: error.message };
      }
    };
    const [changed, failed]: [string[], string[]] = [[], []];
    for await (const results of asTheyCome(nodes, Math.min(remote.fanOut, overlaysAtOnce), bring))
      for (const result of results) {
        if (result.changed > 0) changed.push(result.node);
        if (result.why !== undefined) failed.push(`${result.node}: ${result.why}`);
      }
    if (signal.aborted) return;
    if (changed.length > 0) log.info(`files of overlays were brought up to date on ${listed(changed)}`);
    if (failed.length > 0)
      log.warn(`files of overlays could not be brought to ${failed.length} nodes: ${listed(failed)}`);
  }

  #bring(
    node: string,
    to: Parameters<RemoteNodes['update']>[0],
    archive: Buffer,
    signal: AbortSignal,
  ): Promise<string[]> {
    const by = { node, user: 'overlays', signal };
    return this.#services.connections.update(to, by, (remote) => bringOverlay(remote, archive, 'send'));
  }
}

const listed = (texts: readonly string[]): string =>
  texts.length <= mostNamed
    ? texts.join(', ')
    : `${texts.slice(0, mostNamed).join(', ')} and ${texts.length - mostNamed} more`;
