import { UsageError } from './client-errors.ts';
import type { Terminal } from './invocation.ts';

/** Asks a person for something that is not shown while it is typed. */
export async function askSecret(question: string, { stdin }: Terminal): Promise<string> {
  if (!stdin) throw new UsageError('A password is needed, and standard input is no terminal to ask at.');
  // Before anybody is asked: what is typed at once would be shown.
  process.stdin.setRawMode(true);
  process.stderr.write(question);
  process.stdin.resume();
  process.stdin.setEncoding('utf8');
  let typed = '';
  try {
    for await (const chunk of process.stdin) {
      for (const letter of chunk as string) {
        if (letter === '\r' || letter === '\n' || letter === '\u0004') return typed;
        if (letter === '\u0003') throw new UsageError('Nothing was typed.');
        if (letter === '\u007F' || letter === '\b') typed = typed.replace(/.$/su, '');
        else typed += letter;
      }
    }
    return typed;
  } finally {
    process.stdin.setRawMode(false);
    process.stdin.pause();
    process.stderr.write('\n');
  }
}
