import { UsageError } from '../client-errors.ts';
import { edited } from '../editor.ts';
import type { CliCommand } from '../invocation.ts';
import { definitionsOf, definitionText, planOf, readDefinitions } from '../own/definition-files.ts';
import { operandsOf, ownCommand } from '../own/own-command.ts';
import { writePlan } from '../own/write-plan.ts';

const usage = `Usage: muster edit NODERANGE [--yes]
       muster edit -t TYPE NAMES [--yes]

Opens definitions in $VISUAL or $EDITOR, shows what has changed, asks, and writes all of it in one change or nothing. Of nodes it
is what is stored at them, without what they have of their groups. An attribute that is left out is cleared; an object that is
left out stays as it is. If somebody else has changed one of them meanwhile, it is named, and nothing is written.`;

export const command: CliCommand = ownCommand(
  usage,
  { 'type|t': 'value', 'yes|y': 'flag' },
  async (invocation, options) => {
    const { client, env, stdout, stderr } = invocation;
    const [names = ''] = operandsOf(options, 1, 1, 'Name one noderange; separate names by commas.');
    const type = options.value('type') ?? 'node';
    const { definitions: current, revision } = await definitionsOf(client, type, names);
    if (Object.keys(current[type]!).length === 0) throw new UsageError(`There is nothing in "${names}" to edit.`);
    const before = definitionText(current, 'yaml');
    const result = await edited(before, `${type}.yaml`, env);
    const kept = (): string => `What you wrote is in ${result.keep()}.`;
    if (result.failure !== undefined) throw new Error(result.failure);
    if (result.text === before) {
      stdout.line('Nothing differs.');
      return 0;
    }
    try {
      const wanted = readDefinitions(result.text, 'What you wrote');
      const stranger = Object.entries(wanted).flatMap(([of, objects]) =>
        Object.keys(objects).filter((name) => !Object.hasOwn(current[of] ?? {}, name)),
      )[0];
      if (stranger !== undefined)
        throw new UsageError(`"${stranger}" is none of what was opened; muster mkdef makes new objects.`);
      const yes = options.flag('yes');
      const outcome = await writePlan(invocation, planOf(current, wanted, false), {
        since: revision,
        question: 'Write it?',
        dryRun: false,
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
);
