import { spawn } from 'node:child_process';
import { limiter } from '../../core/limiter.ts';

/** What is asked within so many milliseconds goes together. */
const gathering = 5;

/** One way to ask many. */
interface Round {
  readonly options: readonly string[];
  /**
   * What so many addresses print fits into a pipe: fping must never wait for a reader, or it takes late answers for none. Packets
   * to neighbours that do not answer also fill the socket until nothing more can be sent; a few hundred it can hold.
   */
  readonly perProcess: number;
  readonly processes: number;
}

/** Almost everybody answers the first call. */
const first: Round = { options: ['-r0', '-t500'], perProcess: 4_000, processes: 4 };
/** Whoever did not is asked twice more with care; then nobody is there. */
const second: Round = { options: ['-r1', '-t500', '-B1.5'], perProcess: 200, processes: 16 };

/** Milliseconds between packets. Only root may go below one. */
const quick = '-i0.1';
const modest = '-i1';
/** Exit codes up to the first mean that everybody was asked. */
const unknownAddress = 2;
const refusedOption = 3;

type Told = (alive: boolean | undefined) => void;
type Asked = Map<string, Told[]>;

/** Asks addresses by ICMP echo, many with one process of fping. */
export class Pinger {
  #waiting: Asked = new Map();
  #timer: NodeJS.Timeout | undefined;
  #interval = quick;
  readonly #first = limiter(first.processes);
  readonly #second = limiter(second.processes);

  /** Whether the address answers; undefined where fping is not installed, so that nobody knows. */
  ping(address: string): Promise<boolean | undefined> {
    return new Promise((resolve) => {
      const others = this.#waiting.get(address);
      if (others) others.push(resolve);
      else this.#waiting.set(address, [resolve]);
      if (this.#timer === undefined) this.#timer = setTimeout(() => this.#askAll(), gathering);
    });
  }

  #askAll(): void {
    this.#timer = undefined;
    const asked = this.#waiting;
    this.#waiting = new Map();
    for (const part of chunks([...asked.keys()], first.perProcess)) void this.#askPart(part, asked);
  }

  async #askPart(addresses: readonly string[], asked: Asked): Promise<void> {
    const tell = (address: string, alive: boolean | undefined): void => {
      for (const told of asked.get(address) ?? []) told(alive);
      asked.delete(address);
    };
    await this.#first(() => this.#round(first, addresses, tell));
    const silent = addresses.filter((address) => asked.has(address));
    const asks = chunks(silent, second.perProcess).map(async (part) => {
      const wereAsked = await this.#second(() => this.#round(second, part, tell));
      for (const address of part) tell(address, wereAsked ? false : undefined);
    });
    await Promise.all(asks);
  }

  /** Tells who answers. False if not everybody could be asked. */
  async #round(
    round: Round,
    addresses: readonly string[],
    tell: (address: string, alive: true) => void,
  ): Promise<boolean> {
    const interval = this.#interval;
    const code = await fping([...round.options, interval], addresses, (address) => tell(address, true));
    if (code !== refusedOption || interval === modest) return code >= 0 && code <= unknownAddress;
    this.#interval = modest;
    return this.#round(round, addresses, tell);
  }
}

/** The code it ends with; negative if it cannot be run. */
function fping(
  options: readonly string[],
  addresses: readonly string[],
  alive: (address: string) => void,
): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn('fping', ['-a', ...options], { stdio: ['pipe', 'pipe', 'ignore'] });
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      lines.forEach(alive);
    });
    // A process that is not there or ends early takes no input; how it closes says the rest.
    child.stdin.on('error', () => undefined);
    child.once('error', () => undefined);
    child.once('close', (code) => resolve(code ?? -1));
    child.stdin.end(addresses.join('\n'));
  });
}

const chunks = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size));
