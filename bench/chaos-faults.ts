import { setTimeout as pause } from 'node:timers/promises';
import type { NetworkedCluster } from '../test/bus/networks.ts';
import type { Random } from '../test/process/random.ts';

/** Something that goes wrong for a while. */
interface Fault {
  readonly what: string;
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** As a service manager does it. */
async function untilStarted(start: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await start();
    } catch {
      await pause(1_000);
    }
  }
}

/** Any of them, of any machine. */
function someFault({ servers, workers, nats, postgres }: NetworkedCluster, random: Random): Fault {
  const machine = random.pick(servers);
  const node = random.pick(workers);
  const cut = (what: string, cable: { cut(): void; mend(): void }): Fault => ({
    what,
    begin: async () => cable.cut(),
    end: async () => cable.mend(),
  });
  const kinds: Fault[] = [
    {
      what: 'server killed',
      begin: () => machine.server.kill(),
      end: () => untilStarted(() => machine.start()),
    },
    {
      what: 'server suspended',
      begin: async () => void machine.server.child.kill('SIGSTOP'),
      end: async () => void machine.server.child.kill('SIGCONT'),
    },
    { what: 'worker killed', begin: () => node.worker.kill(), end: () => untilStarted(() => node.start()) },
    { what: 'NATS killed', begin: () => nats.kill(), end: () => nats.start() },
    { what: 'PostgreSQL killed', begin: () => postgres.kill(), end: () => postgres.start() },
    cut('server cut off from PostgreSQL', machine.cables.database),
    cut('server cut off from NATS', machine.cables.bus),
    cut('worker cut off from NATS', node.cables.bus),
  ];
  return random.pick(kinds);
}

/** Milliseconds. */
const longestFault = 12_000;
const longestPause = 6_000;

/** Makes one fault after another, sometimes two at once, until it is told to end. */
export class Faults {
  readonly counts = new Map<string, number>();
  readonly #cluster: NetworkedCluster;
  readonly #random: Random;
  #isBroken = false;

  constructor(cluster: NetworkedCluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
  }

  async run(signal: AbortSignal): Promise<void> {
    const random = this.#random;
    while (!signal.aborted) {
      await pause(1_000 + random.number(longestPause));
      const faults = [someFault(this.#cluster, random)];
      const second = someFault(this.#cluster, random);
      const isDouble = random.chance(25) && !conflicts(second, faults[0]!);
      if (isDouble) faults.push(second);
      const length = 500 + random.number(longestFault);
      this.#isBroken = true;
      for (const { what } of faults) this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
      console.error(
        `  ${new Date().toISOString().slice(11, 19)} ${faults.map(({ what }) => what).join(' and ')} for ${length} ms`,
      );
      await Promise.all(faults.map((fault) => fault.begin()));
      await pause(length);
      await Promise.all(faults.map((fault) => fault.end()));
      this.#isBroken = false;
    }
  }

  /** Resolves when nothing is broken. */
  async over(): Promise<void> {
    while (this.#isBroken) await pause(100);
  }
}

/** Two of one kind may be the same one, and what is killed cannot be suspended. */
const conflicts = (a: Fault, b: Fault): boolean =>
  a.what === b.what || [a, b].every(({ what }) => /^server (killed|suspended)/.test(what));
