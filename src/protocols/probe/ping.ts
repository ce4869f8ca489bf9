import { spawn } from 'node:child_process';
import { limiter } from '../../core/limiter.ts';

/** What is asked within so many milliseconds goes together. */
const gathering = 5;

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

/** Who asks, by address. */
type Asked = Map<string, { readonly signal: AbortSignal; readonly answer: (alive: boolean | undefined) => void }[]>;

/** Asks addresses by ICMP echo, many with one process of fping. */
export class Pinger {
  #waiting: Asked = new Map();
  #timer: NodeJS.Timeout | undefined;
  #interval = quick;
  readonly #first = limiter(first.processes);
  readonly #second = limiter(second.processes);
  readonly #timeout: number;

  /** `timeout`: milliseconds after which a process does not come to an end. The longest round takes five seconds. */
  constructor(timeout = 20_000) {
    this.#timeout = timeout;
  }

  /** Whether the address answers; undefined if nobody knows, as where fping is not installed or whoever asked has left. */
  ping(address: string, signal: AbortSignal): Promise<boolean | undefined> {
    return new Promise((answer) => {
      const others = this.#waiting.get(address);
      if (others) others.push({ signal, answer });
      else this.#waiting.set(address, [{ signal, answer }]);
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
    const report = (address: string, alive: boolean | undefined): void => {
      for (const { answer } of asked.get(address) ?? []) answer(alive);
      asked.delete(address);
    };
    const isWanted = (address: string): boolean => asked.get(address)?.some(({ signal }) => !signal.aborted) ?? false;
    const ask = async (round: Round, part: readonly string[]): Promise<boolean> => {
      const wanted = part.filter(isWanted);
      return wanted.length > 0 && this.#round(round, wanted, (address) => report(address, true));
    };
    const couldAsk = await this.#first(() => ask(first, addresses));
    const silent = addresses.filter((address) => asked.has(address));
    const asks = chunks(silent, second.perProcess).map(async (part) => {
      const wereAsked = couldAsk && (await this.#second(() => ask(second, part)));
      for (const address of part) report(address, wereAsked && isWanted(address) ? false : undefined);
    });
    await Promise.all(asks);
  }

  /** Reports who answers. False if not everybody could be asked. */
  async #round(round: Round, addresses: readonly string[], alive: (address: string) => void): Promise<boolean> {
    const interval = this.#interval;
    // Without memory for a process there is none either.
    const code = await fping([...round.options, interval], addresses, this.#timeout, alive).catch(() => -1);
    if (code !== refusedOption || interval === modest) return code >= 0 && code <= unknownAddress;
    this.#interval = modest;
    return this.#round(round, addresses, alive);
  }
}

/** The code it ends with; negative if it cannot be run or does not end in time. */
function fping(
  options: readonly string[],
  addresses: readonly string[],
  timeout: number,
  alive: (address: string) => void,
): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn('fping', ['-a', ...options], { stdio: ['pipe', 'pipe', 'ignore'] });
    child.once('error', () => resolve(-1));
    // A process that could not be started may have no pipes.
    if (child.pid === undefined) return;
    const timer = setTimeout(() => child.kill('SIGKILL'), timeout);
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      lines.forEach(alive);
    });
    // One that ends early takes no input; how it closes says the rest.
    child.stdin.on('error', () => undefined);
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve(code ?? -1);
    });
    child.stdin.end(addresses.join('\n'));
  });
}

const chunks = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size));
