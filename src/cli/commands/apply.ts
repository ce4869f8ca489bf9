import { edited } from '../ask.ts';
import { musterCommand, oneOf } from '../command.ts';
import { changing } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import {
  currentDefinitions,
  definitionsOf,
  definitionText,
  planOf,
  readDefinitions,
  writePlan,
} from '../muster/definition-files.ts';
import { filled, flag, valued } from '../options.ts';
import { textOfFile } from '../utf8.ts';

export const apply = musterCommand({
  usage: `Usage: muster apply -f FILE [--prune] [--dry-run | --diff] [--yes]

Makes definitions match a file in YAML or JSON, as muster export writes it: objects in the file become exactly as they are there,
all of them in one change or none. A value may be a list, stored with commas, or a block of text. Objects that are not in
the file stay, and so do settings of the site. At a terminal it shows what it would do and asks first. If somebody else has changed
one of the objects meanwhile, it names the object and changes nothing.`,
  options: {
    'file|f': filled('FILE', 'the file; - is standard input'),
    prune: flag('remove objects that are not in the file, of the types that are, in the same change'),
    diff: flag('the same as --dry-run'),
    y: flag('the same as --yes'),
  },
  operands: [0, 0, 'Name the file with -f.'],
  common: changing,
  triesItself: true,
  async run(invocation, options) {
    const file = options.value('file');
    if (file === undefined) throw new UsageError('Name the file with -f.');
    const text = file === '-' ? await invocation.stdin.text() : textOfFile(file);
    const wanted = await readDefinitions(text, file === '-' ? 'standard input' : file);
    const { definitions, revision } = await currentDefinitions(invocation.client, Object.keys(wanted));
    const outcome = await writePlan(invocation, planOf(definitions, wanted, options.flag('prune')), {
      since: revision,
      question: 'Apply it?',
      dryRun: options.common.dryRun || options.flag('diff'),
      yes: options.common.yes || options.flag('y'),
    });
    return outcome === 'refused' ? 1 : 0;
  },
});

export const edit = musterCommand({
  usage: `Usage: muster edit NODERANGE [--yes]
       muster edit -t TYPE NAMES [--yes]

Opens definitions as YAML in $VISUAL or $EDITOR, shows what you changed, asks, and writes everything in one change or nothing. A node
has only its own values there, not those of its groups. An attribute that you delete is cleared; an object that you delete stays as it
is. If somebody else has changed an object meanwhile, edit names it and writes nothing.`,
  options: {
    'type|t': valued('TYPE', 'the type of the objects, node if absent'),
    y: flag('the same as --yes'),
  },
  operands: [1, 1, 'Name one noderange; separate names by commas.'],
  common: changing,
  triesItself: true,
  async run(invocation, options) {
    const { client, env, stdout, stderr } = invocation;
    const [names = ''] = options.operands;
    const type = options.value('type') ?? 'node';
    const { definitions: current, revision } = await definitionsOf(client, type, names);
    if (Object.keys(current[type]!).length === 0) throw new UsageError(`There is nothing in "${names}" to edit.`);
    const before = await definitionText(current, 'yaml');
    const result = await edited(before, `${type}.yaml`, env);
    const kept = (): string => `What you wrote is in ${result.keep()}.`;
    if (result.failure !== undefined) throw new Error(result.failure);
    if (result.text === before) {
      stdout.line('Nothing differs.');
      return 0;
    }
    try {
      const wanted = await readDefinitions(result.text, 'What you wrote');
      const stranger = Object.entries(wanted).flatMap(([of, objects]) =>
        Object.keys(objects).filter((name) => !Object.hasOwn(current[of] ?? {}, name)),
      )[0];
      if (stranger !== undefined)
        throw new UsageError(`"${stranger}" is none of what was opened; muster mkdef makes new objects.`);
      const yes = options.common.yes || options.flag('y');
      const outcome = await writePlan(invocation, planOf(current, wanted, false), {
        since: revision,
        question: 'Write it?',
        dryRun: options.common.dryRun,
        yes,
      });
      if (outcome !== 'refused') return 0;
      stdout.line(kept());
      return 1;
    } catch (error) {
      stderr.line(`muster edit: ${kept()}`);
      throw error;
    }
  },
});

export const exportDefinitions = musterCommand({
  usage: `Usage: muster export --format yaml|json [TYPE...]

Writes all definitions, or those of some types, to standard output, for muster apply and to be kept in git. Secrets are ********,
which apply leaves as they are.

muster export DIR, without --format, writes all tables of a stopped server as CSV files; --with-secrets adds the secrets.`,
  operands: [0, Number.POSITIVE_INFINITY, ''],
  common: ['format', 'curl'],
  async run({ client, stdout }, options) {
    const format = oneOf('--format', options.common.format, ['yaml', 'json'] as const) ?? 'yaml';
    const types = options.operands.length > 0 ? options.operands : undefined;
    const { definitions } = await currentDefinitions(client, types);
    await stdout.write(await definitionText(definitions, format));
    return 0;
  },
});
