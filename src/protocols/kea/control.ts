import { connect } from 'node:net';
import { Fault } from '../../core/errors.ts';

export class KeaAway extends Fault {
  constructor(socket: string, cause: unknown) {
    super('unavailable', `nobody answers on its control socket ${socket} (${(cause as Error).message})`, { cause });
  }
}

/** Kea has understood the command and does not do it; what it has stays as it is. */
export class KeaRefusal extends Fault {
  constructor(command: string, text: string) {
    super('invalid', `${command}: ${text}`);
  }
}

export interface KeaAnswer {
  /** 0 done, 1 refused, 2 unknown command, 3 nothing found. */
  readonly result: number;
  readonly text: string;
  readonly arguments: unknown;
}

export const keaResults = { done: 0, refused: 1, unknownCommand: 2, empty: 3 } as const;

const usualTimeout = 5_000;
/** Kea itself reads at most so long a path. */
const longestSocketPath = 107;

/** Commands to one Kea server over its UNIX socket, one connection each, as Kea wants it. */
export class KeaControl {
  readonly socket: string;

  constructor(socket: string) {
    this.socket = socket;
  }

  /** What Kea answers, refusals too. `args` is an object, or its JSON text. */
  async ask(command: string, args?: object | string, timeout = usualTimeout): Promise<KeaAnswer> {
    const given = typeof args === 'string' ? args : JSON.stringify(args);
    const text = given === undefined ? `{"command":"${command}"}` : `{"command":"${command}","arguments":${given}}`;
    return readAnswer(command, await this.#exchange(text, timeout));
  }

  /** The arguments of the answer to a command that must succeed. */
  async tell(command: string, args?: object | string, timeout?: number): Promise<unknown> {
    const answer = await this.ask(command, args, timeout);
    if (answer.result !== keaResults.done) throw new KeaRefusal(command, answer.text);
    return answer.arguments;
  }

  #exchange(text: string, timeout: number): Promise<string> {
    if (Buffer.byteLength(this.socket) > longestSocketPath) {
      const what = `The path of Kea's control socket, ${this.socket}, is longer than ${longestSocketPath} characters.`;
      throw new Fault('invalid', `${what} Set dhcp.directory to a shorter path.`);
    }
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const connection = connect(this.socket, () => connection.write(text));
      const failed = (error: unknown): void => {
        clearTimeout(timer);
        connection.destroy();
        reject(new KeaAway(this.socket, error));
      };
      const timer = setTimeout(() => failed(new Error(`no answer within ${timeout} ms`)), timeout);
      connection.on('data', (chunk) => chunks.push(chunk));
      connection.once('error', failed);
      connection.once('end', () => {
        clearTimeout(timer);
        connection.destroy();
        // A server that dies in the middle closes without a word.
        if (chunks.length === 0) failed(new Error('the connection was closed without an answer'));
        else resolve(Buffer.concat(chunks).toString());
      });
    });
  }
}

/** One answer, also in the list of one that the control agent wraps it in. */
export function readAnswer(command: string, text: string): KeaAnswer {
  const answer = parseAnswer(text);
  if (answer) return answer;
  throw new Fault('garbled', `Kea's reply to ${command} cannot be understood: ${printable(text)}`);
}

function parseAnswer(text: string): KeaAnswer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const answer: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (typeof answer !== 'object' || answer === null || !('result' in answer)) return undefined;
  const { result, text: said, arguments: args } = answer as Record<string, unknown>;
  if (!Number.isSafeInteger(result)) return undefined;
  return { result: Number(result), text: typeof said === 'string' ? printable(said) : '', arguments: args };
}

const printable = (text: string): string => text.slice(0, 500).replaceAll(/[^\x20-\x7e]+/g, ' ');
