import { existsSync } from 'node:fs';
import { basename, isAbsolute } from 'node:path';
import { path } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { changing } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { errorLine, warningLine } from '../lines.ts';
import { valued, verbose } from '../options.ts';

/** Row operations: added, deleted, updated. */
const operations = ['a', 'd', 'u'];

/** The hook of a program that was registered; its name says where it comes from. */
const hookOf = (file: string): string => `regnotif-${basename(file)}`;

export const regnotif = xcatCommand({
  names: 'file',
  usage: `Usage: regnotif FILE TABLE[,TABLE...] [-o OPERATIONS]

Lets muster run a program when rows of tables change. It makes a hook: muster runs the program of that name in the directory of the setting
hooks.directory, with the changes as JSON on standard input. The hook gets the changes of all tables, and the program chooses.`,
  options: { 'o|operation': valued('OPERATIONS', 'a (added), d (deleted), u (updated), joined by commas'), ...verbose },
  operands: 2,
  common: changing,
  async run(invocation, call) {
    const { client, stderr } = invocation;
    const [file, list] = call.operands;
    if (file === undefined) return say(invocation, regnotif.usage);
    if (list === undefined)
      return say(
        invocation,
        `${regnotif.usage}\n\nThe tables are missing: write regnotif ${file} TABLE[,TABLE...].`,
        1,
      );
    const wanted = call.value('o') ?? operations.join(',');
    const strange = wanted.split(',').find((each) => !operations.includes(each));
    if (strange !== undefined)
      throw new UsageError(`-o has the letters a, d and u joined by commas, not "${strange}".`);
    // By the local socket the server is on this machine, and so is what it runs.
    if (client.isLocal && isAbsolute(file) && !file.endsWith('.pm') && !existsSync(file))
      throw new UsageError(
        `There is no file ${file}. Put the program into the directory of the setting hooks.directory and name it.`,
      );
    const tables = (await client.get('/tables')) as string[];
    const unknown = list.split(',').filter((table) => !tables.includes(table));
    if (unknown.length > 0) {
      stderr.line(errorLine(`There is no table ${unknown.join(', ')}.`, client.server));
      return 1;
    }
    await client.call('PUT', rowAt('notification', 'filename', file), { body: { tables: list, tableops: wanted } });
    if (file.endsWith('.pm'))
      stderr.line(
        warningLine(
          `muster runs no Perl modules: ${file} is noted in the table notification, and nothing runs it.`,
          client.server,
        ),
      );
    else
      await client.call('PUT', rowAt('hooks', 'name', hookOf(file)), {
        body: { command: basename(file), kinds: 'change' },
      });
    return 0;
  },
});

const rowAt = (table: string, key: string, value: string): string => path('tables', table, 'rows', `${key}=${value}`);

export const unregnotif = xcatCommand({
  names: 'file',
  usage: `Usage: unregnotif FILE

Removes the hook that regnotif FILE has made, and its row in the table notification. The hook stays while another FILE with the same last
name is registered: both mean the same program of hooks.directory.`,
  options: { ...verbose },
  rules: { unbundled: true },
  operands: 1,
  common: changing,
  async run(invocation, { operands: [file] }) {
    if (file === undefined) return say(invocation, unregnotif.usage, 1);
    if (!(await registered(invocation)).includes(file)) {
      invocation.stderr.line(errorLine(`${file} is not registered.`, invocation.client.server));
      return 1;
    }
    await invocation.client.call('DELETE', rowAt('notification', 'filename', file));
    const others = (await registered(invocation)).filter((other) => other !== file && hookOf(other) === hookOf(file));
    if (others.length > 0)
      return say(invocation, `The hook ${hookOf(file)} stays: ${others.join(', ')} is registered too.`);
    await invocation.client.call('DELETE', rowAt('hooks', 'name', hookOf(file)));
    return 0;
  },
});

async function registered({ client }: Invocation): Promise<string[]> {
  const { notification = [] } = (await client.get('/tables/notification/rows')) as {
    notification?: readonly { readonly filename: string }[];
  };
  return notification.map(({ filename }) => filename);
}
