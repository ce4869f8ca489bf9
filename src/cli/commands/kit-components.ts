import { path } from '../client.ts';
import { type Call, type Invocation, say, xcatCommand } from '../command.ts';
import { acting, longWorking, reading } from '../common-options.ts';
import { writeData } from '../formats.ts';
import { flag, valued, verbose } from '../options.ts';
import { act, longWork } from '../server-work.ts';
import { commaList, kitVersion } from './kits.ts';

const image = { i: valued('IMAGE', 'the image') } as const;

/** The help for calls without an image or a component; otherwise what to do. */
async function onImage(
  invocation: Invocation,
  call: Call,
  usage: string,
  run: (image: string, components: string) => Promise<number>,
): Promise<number> {
  const [named, components] = [call.value('i'), commaList(call.operands, 'kit component').join(',')];
  return named === undefined || components === '' ? say(invocation, usage, 1) : run(named, components);
}

export const addkitcomp = xcatCommand({
  usage: `Usage: addkitcomp [-a] [-f] [-n] [--noscripts] -i IMAGE COMPONENT[,COMPONENT...]
       addkitcomp -h | --help | -v | --version

  Lets an image take in components of software kits. The next genimage, or updatenode on its nodes, installs them.`,
  options: {
    ...image,
    'a|adddeps': flag('add the components that these need, too'),
    'f|force': flag('also if they do not fit the image, or lack what they need'),
    'n|noupgrade': flag('keep older versions of the same components beside them'),
    noscripts: flag('do not add their scripts to postbootscripts'),
    ...verbose,
  },
  version: kitVersion('addkitcomp'),
  operands: 1,
  common: longWorking,
  run: (invocation, call) =>
    onImage(invocation, call, addkitcomp.usage, async (named, components) => {
      const options = { adddeps: 'a', force: 'f', noupgrade: 'n', noscripts: 'noscripts' };
      const given = Object.entries(options).flatMap(([member, option]) => (call.flag(option) ? [[member, true]] : []));
      const body = { components, ...Object.fromEntries(given) };
      if (!(await longWork(invocation, path('osimages', named, 'kitcomponents'), body, call.common))) return 1;
      return call.common.detach
        ? 0
        : say(invocation, `Kit components ${components} were added to osimage ${named} successfully`);
    }),
});

export const rmkitcomp = xcatCommand({
  usage: `Usage: rmkitcomp [-u] [-f] [--noscripts] -i IMAGE COMPONENT[,COMPONENT...]
       rmkitcomp -h | --help | -v | --version

  Takes components of software kits out of an image.`,
  options: {
    ...image,
    'u|uninstall': flag('the next genimage, or updatenode on its nodes, removes their packages'),
    'f|force': flag('also if other components of the image need them'),
    noscripts: flag('leave their scripts in postbootscripts'),
    ...verbose,
  },
  version: kitVersion('rmkitcomp'),
  operands: 1,
  common: acting,
  run: (invocation, call) =>
    onImage(invocation, call, rmkitcomp.usage, async (named, components) => {
      const options = { force: 'f', noscripts: 'noscripts', uninstall: 'u' };
      const given = Object.entries(options).flatMap(([name, option]) => (call.flag(option) ? [[name, '1']] : []));
      const said = await act(invocation, 'DELETE', path('osimages', named, 'kitcomponents', components), {
        query: Object.fromEntries(given) as Record<string, string>,
      });
      for (const line of said) invocation.stdout.line(line);
      return say(invocation, `kitcomponents ${components} were removed from osimage ${named} successfully`);
    }),
});

export const chkkitcomp = xcatCommand({
  usage: `Usage: chkkitcomp -i IMAGE COMPONENT[,COMPONENT...]
       chkkitcomp -h | --help | -v | --version

  Checks whether components of software kits fit an image, and whether what they need is named too.`,
  options: { ...image, ...verbose },
  version: kitVersion('chkkitcomp'),
  operands: 1,
  common: reading,
  run: (invocation, call) =>
    onImage(invocation, call, chkkitcomp.usage, async (named, components) => {
      const found = (await invocation.client.get(path('osimages', named, 'kitcomponents', components))) as string[];
      const { format } = call.common;
      if (format)
        return writeData(
          invocation,
          format,
          found.map((kitcompname) => ({ kitcompname })),
        );
      return say(invocation, `Kit components ${found.join(',')} are compatible with osimage ${named}`);
    }),
});
