import { readFileSync } from 'node:fs';
import { expect, vi } from 'vitest';
import type { TestServer } from './server.ts';

/**
 * What a process writes comes by pipes of its own: it may be here before or after a reply, and lines of the log before or after "ready".
 * So nobody looks once: `output.test.ts` sees to it.
 */
interface Speaker {
  output(): string;
}

/** Waits until a process has written this, and returns what was found. */
export function said(process: Speaker, pattern: RegExp): Promise<RegExpExecArray> {
  const look = (): RegExpExecArray => {
    const found = pattern.exec(process.output());
    if (!found) throw new Error(`${String(pattern)} was not written, but:\n${process.output()}`);
    return found;
  };
  return vi.waitFor(look, { timeout: 30_000 });
}

/**
 * All that a server had written until now, also to a file of its log: to look for what must not be there. It reads its certificate
 * again, and says so after all that it has said before.
 */
export async function written(server: TestServer, logFile?: string): Promise<string> {
  const all = (): string => server.output() + (logFile === undefined ? '' : readFileSync(logFile, 'utf8'));
  const reloads = (): number => all().split('the certificate was reloaded').length;
  const before = reloads();
  server.child.kill('SIGHUP');
  await vi.waitFor(() => expect(reloads()).toBeGreaterThan(before), { timeout: 30_000 });
  return all();
}
