import { UsageError } from '../client-errors.ts';

export const formats = ['json', 'ndjson', 'csv', 'table', 'yaml'] as const;
export type Format = (typeof formats)[number];

/** What muster adds to the familiar commands on nodes. They are long and written out, so that no word of a script is taken for one. */
export interface OwnOptions {
  readonly format: Format | undefined;
  readonly fold: boolean;
  readonly detach: boolean;
  readonly yes: boolean;
  readonly curl: boolean;
  readonly dryRun: boolean;
}

const flags: Readonly<Record<string, keyof Omit<OwnOptions, 'format'>>> = {
  '--fold': 'fold',
  '--detach': 'detach',
  '--yes': 'yes',
  '--curl': 'curl',
  '--dry-run': 'dryRun',
};

export const ownOptionsHelp = `Of muster's own:
  --format json|ndjson|csv|table|yaml   results as data
  --fold      equal results once, under the folded names of their nodes
  --detach    print the number of the run and leave; "muster runs attach NUMBER" shows its results
  --dry-run   say what would be done
  --yes       do not ask, even if many nodes are concerned
  --curl      print the request as a call of curl instead of sending it`;

/** Takes them out of the words; `within`: how many words may hold them, where a command of the user's own follows. */
export function takeOwnOptions(argv: readonly string[], within = argv.length): { own: OwnOptions; rest: string[] } {
  const own = {
    format: undefined as Format | undefined,
    fold: false,
    detach: false,
    yes: false,
    curl: false,
    dryRun: false,
  };
  const rest: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at]!;
    const flag = at < within && Object.hasOwn(flags, word) ? flags[word] : undefined;
    if (flag) own[flag] = true;
    else if (at < within && (word === '--format' || word.startsWith('--format='))) {
      const value = word === '--format' ? argv[(at += 1)] : word.slice('--format='.length);
      if (!formats.includes(value as Format))
        throw new UsageError(`The format "${value ?? ''}" is not known; there are ${formats.join(', ')}.`);
      own.format = value as Format;
    } else rest.push(word);
  }
  return { own, rest };
}
