import type { Invocation } from './invocation.ts';
import { referenceVersion } from './lines.ts';
import type { ParsedOptions } from './options.ts';

/** What nearly every familiar command does before its own work: help and version; the exit status, or undefined to go on. */
export function helpOrVersion(
  { stdout }: Invocation,
  usage: string,
  { flag, unknown, lacking }: ParsedOptions,
): number | undefined {
  if (flag('help')) {
    stdout.line(usage);
    return 0;
  }
  if (flag('version')) {
    stdout.line(`Version ${referenceVersion}`);
    return 0;
  }
  return unknown.length > 0 || lacking.length > 0 ? usageError({ stdout }, usage) : undefined;
}

/** Says it and answers the exit status. */
export function told({ stdout }: Pick<Invocation, 'stdout'>, text: string, code = 0): number {
  stdout.line(text);
  return code;
}

/** The help text where the call was wrong. */
export const usageError = (to: Pick<Invocation, 'stdout'>, usage: string, code = 1): number => told(to, usage, code);

export const helpAndVersion = { 'help|h|?': 'flag', 'version|v': 'flag' } as const;
