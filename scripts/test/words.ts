// The words after `npm test --`.
import type { Part } from '../../test/suite/plan.ts';

export interface Words {
  readonly part: Part;
  readonly onPostgres: boolean;
  readonly groups: readonly string[];
  /** What the working tree differs from, if only what a change reaches is to run. */
  readonly changedSince: string | undefined;
  /** What is left out is a failure. */
  readonly complete: boolean;
  readonly writeTimes: boolean;
  readonly list: boolean;
  /** Parts of paths of files. */
  readonly files: readonly string[];
  /** Options of vitest. */
  readonly others: readonly string[];
}

export class WrongWords extends Error {}

/** Options of vitest whose value is a word of its own; others have it after `=`. */
const withValue = /^(-t|--testNamePattern|--root|--dir|--reporter|--outputFile)$/;

/** `--group bmcs test/hardware -t power`: files of the group bmcs below test/hardware, tests that are called so. */
export function readWords(given: readonly string[], groupNames: readonly string[]): Words {
  const rest = [...given];
  const groups: string[] = [];
  const files: string[] = [];
  const others: string[] = [];
  const flags = new Set<string>();
  let onPostgres = false;
  let changedSince: string | undefined;
  const value = (option: string, known: readonly string[]): string => {
    const word = rest.shift();
    if (word !== undefined && known.includes(word)) return word;
    throw new WrongWords(`${option} takes one of ${known.join(', ')}.`);
  };
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--database') onPostgres = value(word, ['postgresql', 'sqlite']) === 'postgresql';
    else if (word === '--group') groups.push(value(word, groupNames));
    else if (word === '--changed')
      changedSince = rest[0] !== undefined && !rest[0].startsWith('-') ? rest.shift()! : 'HEAD';
    else if (/^--(machines|complete|write-times|list)$/.test(word)) flags.add(word);
    else if (!word.startsWith('-')) files.push(word);
    else others.push(word, ...(withValue.test(word) ? rest.splice(0, 1) : []));
  }
  return {
    // Whoever names files or groups means them, wherever they belong.
    part: files.length > 0 || groups.length > 0 ? 'all' : flags.has('--machines') ? 'machines' : 'quick',
    onPostgres,
    groups,
    changedSince,
    complete: flags.has('--complete'),
    writeTimes: flags.has('--write-times'),
    list: flags.has('--list'),
    files,
    others,
  };
}
