/** What somebody at a console wants besides typing. */
export type EscapeAction =
  | 'end'
  | 'help'
  | 'who'
  | 'ask'
  | 'take'
  | 'give'
  | 'look'
  | 'break'
  | 'reconnect'
  | 'takeover';

/** What follows Ctrl-E and c; as in conserver, where it has the same. */
const actions: Readonly<Record<string, readonly [action: EscapeAction, help: string]>> = {
  '.': ['end', 'end'],
  '?': ['help', 'this help'],
  w: ['who', 'who looks on, and who types'],
  a: ['ask', 'ask for the keyboard'],
  f: ['take', 'take the keyboard'],
  g: ['give', 'give the keyboard to whoever asked last'],
  s: ['look', 'look on, and let others type'],
  l0: ['break', 'send a break'],
  o: ['reconnect', 'connect again now'],
  t: ['takeover', 'take the console from a program outside of muster'],
};

export const helpLines: readonly string[] = Object.entries(actions).map(
  ([keys, [, help]]) => `Ctrl-E c ${keys.split('').join(' ').padEnd(4)} ${help}`,
);

const [controlE, c] = [0x05, 0x63];

/** Tells what is typed for the machine from what is meant for muster, wherever the pieces end in which it comes. */
export class EscapeKeys {
  /** Bytes that may begin an escape. */
  #begun: number[] = [];

  read(bytes: Uint8Array): (Buffer | EscapeAction | 'unknown')[] {
    const found: (Buffer | EscapeAction | 'unknown')[] = [];
    let plain: number[] = [];
    const flush = (): void => {
      if (plain.length > 0) found.push(Buffer.from(plain));
      plain = [];
    };
    for (const byte of bytes) {
      this.#begun.push(byte);
      const [first, second, ...rest] = this.#begun;
      if (first !== controlE || (second !== undefined && second !== c)) {
        // The second of two may begin one itself.
        const isAgain = byte === controlE && this.#begun.length > 1;
        plain.push(...(isAgain ? this.#begun.slice(0, -1) : this.#begun));
        this.#begun = isAgain ? [controlE] : [];
        continue;
      }
      if (rest.length === 0) continue;
      const keys = String.fromCharCode(...rest);
      const action = Object.hasOwn(actions, keys) ? actions[keys]![0] : undefined;
      if (action === undefined && Object.keys(actions).some((known) => known.startsWith(keys))) continue;
      this.#begun = [];
      flush();
      found.push(action ?? 'unknown');
    }
    flush();
    return found;
  }
}
