import { type Invocation, say, xcatCommand } from '../command.ts';
import { reading } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { errorLine } from '../lines.ts';
import { refused, valued, verbose } from '../options.ts';

const members = { i: 'osimage', c: 'kitcomponent', o: 'osdistro', u: 'osdistroupdate' } as const;

export const lskmodules = xcatCommand({
  usage: `Usage: lskmodules [-i IMAGES] [-c COMPONENTS] [-o OSDISTROS] [-u UPDATES]

  Lists the kernel modules (*.ko) in packages and directories of drivers, with what they are. Names are separated by commas.`,
  options: {
    'i|osimage': valued('IMAGES', 'search what driverupdatesrc of these images names'),
    'c|kitcomponent': valued('COMPONENTS', 'search the driver packages of these components of kits'),
    'o|osdistro': valued('OSDISTROS', 'search the kernel packages of these operating systems'),
    'u|osdistroupdate|osdistropudate': valued('UPDATES', 'search the kernel packages of these updates'),
    'x|xml|XML': refused('there is no XML; --format json prints data.'),
    ...verbose,
  },
  operands: 0,
  bare: 1,
  common: reading,
  async run(invocation, call) {
    const given = Object.entries(members).flatMap(([option, member]) => {
      const text = call.value(option);
      if (text === '') throw new UsageError(`-${option} needs names, separated by commas; an empty word ("") is none.`);
      return text === undefined ? [] : [[member, text]];
    });
    if (given.length === 0) return say(invocation, lskmodules.usage, 1);
    const lines = await search(invocation, Object.fromEntries(given));
    if (!lines) return 1;
    const found = lines.map((line) => {
      const mark = line.indexOf(': ');
      return { name: line.slice(0, mark), description: line.slice(mark + 2) };
    });
    if (call.common.format) return writeData(invocation, call.common.format, found);
    for (const { name, description } of found) invocation.stdout.line(`${name}: ${description}`);
    return 0;
  },
});

/** The lines of the server; of names that nothing has it says what they should name. */
async function search({ client, stderr }: Invocation, body: object): Promise<readonly string[] | undefined> {
  try {
    return ((await client.call('POST', '/services/kmodules', { body })).body ?? []) as string[];
  } catch (error) {
    if (!(error instanceof Refused) || error.kind !== 'unknown-object') throw error;
    for (const sentence of error.sentences) stderr.line(errorLine(sentence, client.server));
    return undefined;
  }
}
