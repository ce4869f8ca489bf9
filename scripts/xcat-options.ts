// Every command and option of xCAT's manual: whether muster has it, and what is different.
import { commands } from '../src/cli/commands/index.ts';
import type { OptionRow } from '../src/cli/options.ts';
import manual from './xcat-manual.json' with { type: 'json' };

export interface Compared {
  readonly command: string;
  /** As the manual writes them. */
  readonly same: readonly string[];
  /** Options that do something else, or are refused, with the reason. */
  readonly different: readonly { readonly option: string; readonly why: string }[];
  /** Of a command that does nothing here: what to use instead. */
  readonly instead?: string;
}

const isAbsent = ({ summary }: { readonly summary: string }): boolean => /\bnot here\b/i.test(summary);

/** What stands behind the usage in the help of a command that is not there. */
const insteadOf = (name: string, usage: string): string =>
  (usage.split('\n\n').find((paragraph) => !paragraph.startsWith('Usage:')) ?? '')
    .trim()
    .replace(`${name} does nothing here. `, '');

/** Why an option is not as in xCAT, by its row; undefined: it is. */
function difference(row: OptionRow | string): string | undefined {
  if (typeof row === 'string') return undefined;
  if (row.refused !== undefined) return `refused: ${row.refused}`;
  return row.help?.startsWith('accepted for scripts') ? row.help : undefined;
}

export async function comparedWithManual(): Promise<Compared[]> {
  return Promise.all(
    Object.entries(manual as Readonly<Record<string, string>>).map(async ([command, text]) => {
      const entry = commands[command];
      if (!entry) throw new Error(`muster does not answer to ${command}, a command of xCAT's manual.`);
      const { usage, parsed, common } = await entry.load();
      if (isAbsent(entry)) return { command, same: [], different: [], instead: insteadOf(command, usage) };
      const rows = new Map<string, OptionRow | string>();
      for (const [names, row] of Object.entries(parsed)) for (const name of names.split('|')) rows.set(name, row);
      if (common.includes('dryRun')) rows.set('dryrun', 'flag');
      const same: string[] = [];
      const different: { option: string; why: string }[] = [];
      for (const option of text.split(' ').filter(Boolean)) {
        const row = rows.get(option.replace(/^--?/, ''));
        const why = row === undefined ? 'refused as unknown' : difference(row);
        if (why === undefined) same.push(option);
        else different.push({ option, why });
      }
      return { command, same, different };
    }),
  );
}
