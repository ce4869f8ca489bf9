import type { IFunctionIdentifier, Terminal } from '@xterm/xterm';

/** Titles, colors of the terminal, links and the clipboard: what a machine prints does not decide about these. */
const commands = [0, 1, 2, 4, 8, 10, 11, 12, 52, 104, 110, 111, 112];

/** Questions of a machine that a terminal answers as if somebody had typed the answer. */
const questions: readonly IFunctionIdentifier[] = [
  { final: 'c' },
  { prefix: '>', final: 'c' },
  { prefix: '=', final: 'c' },
  { prefix: '>', final: 'q' },
  { final: 'n' },
  { prefix: '?', final: 'n' },
  { intermediates: '$', final: 'p' },
  { prefix: '?', intermediates: '$', final: 'p' },
];

/** Bytes of a serial line come from whoever has the machine: they draw text and nothing else. */
export function makeHarmless({ parser }: Terminal, mayAnswer: () => boolean): void {
  for (const command of commands) parser.registerOscHandler(command, () => true);
  for (const question of questions) parser.registerCsiHandler(question, () => !mayAnswer());
  // Sizes and places of windows, and what they are called.
  parser.registerCsiHandler({ final: 't' }, () => true);
  parser.registerDcsHandler({ intermediates: '$', final: 'q' }, () => !mayAnswer());
}
