import { Fault } from '../../core/errors.ts';
import { pause } from '../../core/waiting.ts';
import type { HostKeys } from '../../protocols/ssh/host-keys.ts';
import { hostAndPort, type Target } from '../../protocols/ssh/target.ts';
import { openTerminal, type Terminal } from '../../protocols/ssh/terminal.ts';
import type { ConsoleOptions, OpenConsole } from '../console.ts';
import type { ConsoleStyle } from './console-styles.ts';

/** Milliseconds that a command line is waited for, and after a command until it has said all that it says. */
const promptTimeout = 10_000;
const settling = 1_500;
const look = 50;
/** Bytes that a command line may say before the console is there. */
const mostSaid = 16_384;
const longestShown = 200;
/** What a machine may print in a second; when it prints more, the BMC is read from more slowly. */
const perSecond = 1 << 20;
const flowRest = 100;

const isPrompt = (text: string): boolean => /[>$#%] ?$/.test(text.slice(-40));

/** The console of a machine over SSH to its BMC. */
export async function openSshConsole(
  target: Target,
  style: ConsoleStyle,
  hostKeys: HostKeys,
  options: ConsoleOptions,
  signal: AbortSignal,
): Promise<OpenConsole> {
  const console = new SshConsole(options);
  console.terminal = await openTerminal(target, {
    hostKeys,
    signal,
    output: (bytes) => console.heard(bytes),
    closed: (reason) => console.ended(reason),
  });
  try {
    if (style.enter === undefined) console.begin();
    else await enter(console, style, style.enter, options.takeOver, signal);
  } catch (error) {
    await console.terminal.close();
    throw error;
  }
  return console.opened(style, `SSH ${hostAndPort(target)}`);
}

async function enter(
  console: SshConsole,
  { kill, inUse = [] }: ConsoleStyle,
  command: string,
  takeOver: boolean,
  signal: AbortSignal,
): Promise<void> {
  await console.prompted(signal);
  if (takeOver && kill !== undefined) {
    await console.say(kill);
    await console.prompted(signal);
  }
  await console.say(command);
  for (let waited = 0; waited < settling; waited += look) {
    await pause(look, signal);
    const said = console.said.toLowerCase();
    if (inUse.some((words) => said.includes(words)))
      throw new Fault('conflict', `its console over SSH is in use: ${shown(console.said, command)}`);
  }
  // Back at the command line: it was not opened.
  const rest = console.said.slice(console.said.indexOf(command) + command.length).trimEnd();
  if (rest !== '' && console.isAtPrompt && rest.endsWith(console.prompt))
    throw new Fault('invalid', `its BMC did not open the console: ${shown(console.said, command)}`);
  console.begin(command);
}

/** One line, without what a terminal would do with it. */
function shown(said: string, command: string): string {
  const text = said
    .slice(said.indexOf(command) + command.length)
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, longestShown);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

class SshConsole {
  terminal: Terminal | undefined;
  /** What the command line has said since the last command. */
  said = '';
  prompt = '';
  readonly #options: ConsoleOptions;
  #isThere = false;
  #isOver = false;
  #lost: Fault | undefined;
  #second = { number: 0, bytes: 0 };

  constructor(options: ConsoleOptions) {
    this.#options = options;
  }

  get isAtPrompt(): boolean {
    return isPrompt(this.said);
  }

  heard(bytes: Buffer): void {
    if (this.#isThere) return this.#print(bytes);
    this.said = (this.said + bytes.toString('latin1')).slice(-mostSaid);
  }

  ended(reason: Fault): void {
    this.#lost = reason;
    if (!this.#isThere || this.#isOver) return;
    this.#isOver = true;
    this.#options.closed(reason);
  }

  async prompted(signal: AbortSignal): Promise<void> {
    for (let waited = 0; waited < promptTimeout; waited += look) {
      if (this.#lost) throw this.#lost;
      if (this.isAtPrompt) {
        this.prompt = this.said
          .split(/[\r\n]/)
          .at(-1)!
          .trim();
        return;
      }
      await pause(look, signal);
    }
    throw new Fault('deadline', `its BMC showed no command line over SSH within ${promptTimeout / 1_000} s.`);
  }

  async say(command: string): Promise<void> {
    this.said = '';
    await this.terminal!.write(Buffer.from(`${command}\r`, 'latin1'));
  }

  /** What comes from now on is of the machine, and so is what came after the command line had taken the command. */
  begin(command?: string): void {
    if (this.#lost) throw this.#lost;
    this.#isThere = true;
    const from = command === undefined ? 0 : this.said.indexOf(command) + command.length;
    const early = Buffer.from(this.said.slice(from), 'latin1');
    this.said = '';
    if (early.length > 0) this.#print(early);
  }

  opened({ leave, breakKeys }: ConsoleStyle, way: string): OpenConsole {
    const terminal = this.terminal!;
    return {
      way,
      write: (bytes) => terminal.write(bytes),
      async sendBreak() {
        if (breakKeys === undefined) throw new Fault('invalid', 'its console over SSH has no break that muster knows.');
        await terminal.write(Buffer.from(breakKeys, 'latin1'));
      },
      close: async () => {
        if (this.#isOver) return;
        this.#isOver = true;
        if (leave !== undefined) await terminal.write(Buffer.from(leave, 'latin1')).catch(() => undefined);
        await terminal.close();
        this.#options.closed();
      },
    };
  }

  #print(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#options.output(bytes);
    const number = Math.floor(performance.now() / 1_000);
    if (this.#second.number !== number) this.#second = { number, bytes: 0 };
    this.#second.bytes += bytes.length;
    if (this.#second.bytes > perSecond) this.terminal?.rest(flowRest);
  }
}
