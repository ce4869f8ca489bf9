import { readFileSync } from 'node:fs';
import { UsageError } from '../client-errors.ts';
import type { CliCommand } from '../invocation.ts';
import { currentDefinitions, planOf, readDefinitions } from '../own/definition-files.ts';
import { operandsOf, ownCommand } from '../own/own-command.ts';
import { writePlan } from '../own/write-plan.ts';

const usage = `Usage: muster apply -f FILE [--prune] [--dry-run | --diff] [--yes]

Makes definitions match a file in YAML or JSON, as muster export writes it: objects in the file become exactly as they are there,
all of them in one change or none. Objects that are not in the file stay, and so do settings of the site. At a terminal it shows
what it would do and asks first. What somebody else changes meanwhile is not written over: then it names it, and changes nothing.

  -f FILE     the file; - is standard input
  --prune     remove objects that are not in the file, of the types that are, in the same change
  --dry-run   only show what would be done; so does --diff
  --yes       do not ask`;

export const command: CliCommand = ownCommand(
  usage,
  { 'file|f': 'value', prune: 'flag', 'dry-run': 'flag', diff: 'flag', 'yes|y': 'flag' },
  async (invocation, options) => {
    operandsOf(options, 0, 0, 'Name the file with -f.');
    const file = options.value('file');
    if (file === undefined) throw new UsageError('Name the file with -f.');
    const text = file === '-' ? await invocation.stdin.text() : readText(file);
    const wanted = readDefinitions(text, file === '-' ? 'standard input' : file);
    const { definitions, revision } = await currentDefinitions(invocation.client, Object.keys(wanted));
    const outcome = await writePlan(invocation, planOf(definitions, wanted, options.flag('prune')), {
      since: revision,
      question: 'Apply it?',
      dryRun: options.flag('dry-run') || options.flag('diff'),
      yes: options.flag('yes'),
    });
    return outcome === 'refused' ? 1 : 0;
  },
);

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}.`);
  }
}
