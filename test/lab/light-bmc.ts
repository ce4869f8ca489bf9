import { mkdtemp, rm } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { labAddresses } from './addresses.ts';
import { refuseBound } from './bound.ts';
import { openChannel } from './channel.ts';
import type { LightOptions, LightState } from './light-bmc/protocol.ts';
import type { Namespace } from './netns.ts';

export interface LightLabOptions {
  readonly count: number;
  /** The /16 below which the BMCs are, such as `127.10`. */
  readonly prefix: string;
  /** Instead of count and prefix: these addresses, which may be of IPv6. */
  readonly addresses?: readonly string[];
  readonly port?: number;
  readonly processes?: number;
  /** Milliseconds every answer is held back. */
  readonly delay?: number;
  /** Milliseconds that each holds its answers back longer than the one before it. */
  readonly delayStep?: number;
  /** Percent of answers that are lost. */
  readonly loss?: number;
  /** Milliseconds after which each machine prints a line on its serial port; 0: only what is typed. Absent: it has none. */
  readonly lines?: number;
  /** Where the addresses are. */
  readonly namespace?: Namespace;
}

/**
 * BMCs of our own making, small enough for ten thousand: RMCP+ with suites 3 and 17, chassis commands, boot options, sensors, FRU
 * data and an event log that is always empty. Accounts: `labAccounts`.
 */
export interface LightLab {
  readonly addresses: readonly string[];
  state(index: number): Promise<LightState>;
  /** How many are on. */
  poweredOn(): Promise<number>;
  stop(): Promise<void>;
}

const program = join(import.meta.dirname, 'light-bmc/main.ts');
const perProcess = 2_500;

export async function startLightBmcs(options: LightLabOptions): Promise<LightLab> {
  const { count, prefix, port = 623, delay = 0, delayStep = 0, loss = 0, lines, namespace } = options;
  const addresses = options.addresses ?? labAddresses(prefix, count);
  if (!namespace) refuseBound('udp', addresses.filter(isIPv4), port);
  const processes = options.processes ?? Math.max(1, Math.ceil(addresses.length / perProcess));
  const share = Math.ceil(addresses.length / processes);
  const directory = await mkdtemp(join(tmpdir(), 'muster-light-'));
  const channels = Array.from({ length: processes }, (_, number) =>
    openChannel(program, directory, `light${number}`, namespace),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(channels.map(({ child }) => child.stop()));
    await rm(directory, { recursive: true, force: true });
  };
  const start = (number: number): LightOptions => {
    const firstIndex = number * share;
    const own = addresses.slice(firstIndex, firstIndex + share);
    return { addresses: own, firstIndex, port, delay, delayStep, loss, lines };
  };
  try {
    await Promise.all(channels.map(({ ask }, number) => ask({ ask: 'start', options: start(number) })));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    addresses,
    async state(index) {
      const channel = channels[Math.floor(index / share)];
      if (!channel || index >= addresses.length) throw new Error(`There is no BMC ${index}.`);
      return (await channel.ask({ ask: 'state', place: index % share })) as LightState;
    },
    async poweredOn() {
      const counts = (await Promise.all(channels.map(({ ask }) => ask({ ask: 'poweredOn' })))) as number[];
      return counts.reduce((sum, one) => sum + one, 0);
    },
    stop,
  };
}
