import { createInterface } from 'node:readline/promises';
import { oneLine } from './control-characters.ts';
import type { Invocation } from './invocation.ts';

/** Asks a person. Where there is none to ask it is agreed to: scripts are never asked. */
export async function agreed({ terminal, stdout }: Invocation, question: string, yes: boolean): Promise<boolean> {
  if (yes || !terminal.stdin || !terminal.stdout) return true;
  await stdout.flush();
  return asked(question);
}

export async function asked(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // Ctrl-C and Ctrl-D are a no.
  const gone = new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''));
    lines.once('SIGINT', () => lines.close());
  });
  try {
    const answer = await Promise.race([lines.question(`${oneLine(question)} [y/N] `), gone]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
