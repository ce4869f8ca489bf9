import { agreed } from '../ask.ts';
import { path } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { acting, longWorking, reading } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { errorLine } from '../lines.ts';
import { flag, refused, verbose } from '../options.ts';
import { inCommands } from '../remedies.ts';
import { longWork } from '../server-work.ts';
import { definitionOf } from './images.ts';

export const chkosimage = xcatCommand({
  usage: `Usage: chkosimage IMAGE

  Checks an image: whether nodes can boot it, and whether the files that its definition names are there.`,
  options: {
    ...verbose,
    'c|clean': refused('muster removes no packages; look at what it lists, and remove it yourself.'),
  },
  version: false,
  operands: 1,
  bare: 1,
  common: reading,
  async run(invocation, call) {
    const { client, stdout, stderr } = invocation;
    const [image = ''] = call.operands;
    if (!(await definitionOf(invocation, image))) return 1;
    const found = (await client.get(path('osimages', image, 'check'))) as Record<'found' | 'problems', string[]>;
    if (call.common.format) await writeData(invocation, call.common.format, [{ image, ...found }]);
    else {
      if (call.flag('verbose')) for (const line of found.found) await stdout.line(`${image}: ${line} is there.`);
      for (const problem of found.problems) await stderr.line(errorLine(inCommands(problem), client.server));
      if (found.problems.length === 0) stdout.line(`${image}: nothing is wrong with it.`);
    }
    return found.problems.length > 0 ? 1 : 0;
  },
});

export const geninitrd = xcatCommand({
  usage: `Usage: geninitrd IMAGE

  Makes the initial RAM disk of a diskless image. muster makes it with the image, so this is genimage IMAGE.`,
  options: { ignorekernelchk: refused('muster always checks the kernel.') },
  version: false,
  operands: 1,
  bare: 1,
  common: longWorking,
  async run(invocation, call) {
    const [image = ''] = call.operands;
    const definition = await definitionOf(invocation, image);
    if (!definition) return 1;
    if (definition['provmethod'] === 'install')
      throw new UsageError(
        `${image} is for installers, whose RAM disks muster takes as they are; it adds no drivers to them.`,
      );
    const at = path('osimages', image, 'instance');
    return (await longWork(invocation, at, { action: 'gen' }, call.common)) ? 0 : 1;
  },
});

export const rmosdistro = xcatCommand({
  usage: `Usage: rmosdistro [-f] NAME...
       rmosdistro [-f] -a

  Removes what copycds has copied from install media of an operating system, and its definition. lsdef -t osdistro lists the names. If
  images are installed from it, it names them and removes nothing.`,
  options: { 'a|all': flag('all of them'), 'f|force': flag('also those that images are installed from; do not ask') },
  version: false,
  bare: 1,
  common: acting,
  async run(invocation, call) {
    const { client } = invocation;
    const [isAll, force] = [call.flag('a'), call.flag('f')];
    const [first] = call.operands;
    if (isAll && first !== undefined)
      throw new UsageError(`-a removes all of them: leave "${first}" out, or leave -a out to remove only that.`);
    if (!isAll && first === undefined) return say(invocation, rmosdistro.usage, 1);
    const names = isAll ? ((await client.get('/definitions/osdistro', { aside: true })) as string[]) : call.operands;
    const question = `Remove the files of ${names.join(', ')}?`;
    if (names.length > 0 && !(await agreed(invocation, question, force || call.common.yes))) return 1;
    let code = 0;
    for (const name of names) code = Math.max(code, await remove(invocation, name, force));
    return code;
  },
});

/** One that cannot be removed does not keep the others. */
async function remove({ client, stdout, stderr }: Invocation, name: string, force: boolean): Promise<number> {
  try {
    await client.call('DELETE', path('osdistros', name), { query: force ? { force: '1' } : {} });
  } catch (error) {
    if (!(error instanceof Refused) || error.isDenied) throw error;
    for (const sentence of error.sentences) stderr.line(errorLine(sentence, client.server));
    return 1;
  }
  stdout.line(`${name} has been removed.`);
  return 0;
}
