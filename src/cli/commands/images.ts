import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { path } from '../client.ts';
import { type Call, type CliCommand, type Invocation, refuseByName, say, xcatCommand } from '../command.ts';
import { acting, longWorking, reading } from '../common-options.ts';
import type { Attributes } from '../definitions/reading.ts';
import { Refused } from '../errors.ts';
import { writeData } from '../formats.ts';
import { errorLine, noteLine } from '../lines.ts';
import { filled, flag, type OptionTable, refused, valued, verbose } from '../options.ts';
import { longWork } from '../server-work.ts';

type Params = readonly Readonly<Record<string, string>>[];

/** The attributes of an image; if it is not defined, it says so in xCAT's words. */
export async function definitionOf(
  { client, stderr }: Invocation,
  image: string,
  sentence = `Cannot find image '${image}' from the osimage table.`,
): Promise<Attributes | undefined> {
  try {
    const found = (await client.get(path('osimages', image), { aside: true })) as Record<string, Attributes>;
    return found[image] ?? {};
  } catch (error) {
    if (!(error instanceof Refused) || error.isDenied) throw error;
    stderr.line(errorLine(sentence, client.server));
    return undefined;
  }
}

/** A word that begins with a dash is no image, and is refused without a question to the server about it. */
async function notFound({ client, stderr }: Invocation, word: string): Promise<number> {
  stderr.line(errorLine(`Cannot find image '${word}' from the osimage table.`, await client.serverName()));
  return 1;
}

/** An action on an image that takes minutes. */
async function workOnImage(
  invocation: Invocation,
  { common }: Call,
  image: string,
  action: string,
  params: Params = [],
): Promise<number> {
  const body = { action, ...(params.length > 0 ? { params } : {}) };
  const ok = await longWork(invocation, path('osimages', image, 'instance'), body, common);
  return ok ? 0 : 1;
}

/** The parameters of a request: options by name with their values, flags with none. */
const paramsOf = (call: Call, names: Readonly<Record<string, string>>): Params =>
  Object.entries(names).flatMap(([parameter, name]) => (call.has(name) ? [{ [parameter]: call.value(name)! }] : []));

const fromDefinition = (...letters: readonly string[]): OptionTable =>
  Object.fromEntries(
    letters.map((letter) => [
      letter,
      refused('the definition of the image says it; chdef -t osimage sets it.', 'value'),
    ]),
  );

export const genimage = xcatCommand({
  usage: `Usage: genimage IMAGE

  Builds the root of an image from its lists.`,
  options: {
    ...fromDefinition('a', 'o', 'p', 'i', 'n', 'r', 'k', 'g', 'm', 'l', 't'),
    interactive: refused('package managers are never asked back.'),
    onlyinitrd: refused('the RAM disk is made with the image.'),
    permission: refused('muster sets the permissions of the tree itself.', 'value'),
    ignorekernelchk: refused('muster always checks the kernel.'),
    noupdate: refused('the packages of the lists are always installed.'),
    tempfile: refused('muster keeps its temporary files itself.', 'value'),
  },
  rules: { unbundled: true },
  operands: 1,
  common: ['dryRun', ...longWorking],
  triesItself: true,
  refuse: refuseByName,
  async run(invocation, call) {
    const [image] = call.operands;
    if (image === undefined) return say(invocation, genimage.usage, 1);
    invocation.stdout.line('Generating image: ');
    if (!(await definitionOf(invocation, image))) return 1;
    if (call.common.dryRun)
      return say(invocation, `muster would build ${image}; lsdef -t osimage -o ${image} shows from what.`);
    return workOnImage(invocation, call, image, 'gen');
  },
});

export const packimage = xcatCommand({
  usage: `Usage: packimage IMAGE [-m squashfs|cpio] [-c zstd|xz|gzip|lz4|pigz] [--nosyncfiles]

  Makes the file of an image that nodes fetch.`,
  options: {
    'method|m': valued('METHOD', 'squashfs or cpio'),
    'compress|c': valued('METHOD', 'zstd, xz, gzip, lz4 or pigz'),
    nosyncfiles: flag('leave the files of the synclist out'),
    ...verbose,
  },
  // As in xCAT an unknown option is taken for a name, which nothing has.
  rules: { passUnknown: true },
  operands: 1,
  common: longWorking,
  async run(invocation, call) {
    const [image] = call.operands;
    if (image === undefined) return say(invocation, packimage.usage);
    if (image.startsWith('-')) return notFound(invocation, image);
    if (!(await definitionOf(invocation, image))) return 1;
    const names = { method: 'method', compress: 'compress', nosyncfiles: 'nosyncfiles' };
    return workOnImage(invocation, call, image, 'pack', paramsOf(call, names));
  },
});

export const liteimg = xcatCommand({
  usage: `Usage: liteimg IMAGE

  Makes the file of a statelite image that nodes fetch, as packimage does.`,
  operands: 1,
  common: longWorking,
  async run(invocation, call) {
    const [image] = call.operands;
    if (image === undefined) return say(invocation, liteimg.usage);
    const { stderr, client } = invocation;
    const definition = await definitionOf(invocation, image);
    if (!definition) return 1;
    const { provmethod = '' } = definition;
    if (provmethod !== 'statelite') {
      const other = provmethod === 'netboot' ? ` Run packimage ${image}.` : '';
      const sentence = `The image ${image} has provmethod "${provmethod}", and liteimg is for statelite images.${other}`;
      stderr.line(errorLine(sentence, client.server));
      return 1;
    }
    return workOnImage(invocation, call, image, 'pack');
  },
});

const otherHost = 'bundles are files of the management node; copy them with scp.';

export const imgexport = xcatCommand({
  names: 'image or file',
  usage: `Usage: imgexport IMAGE [DESTINATION]

  Writes an image into one file on the management node.`,
  options: {
    'verbose|v': verbose['verbose|V']!,
    'extra|e': refused('put the file into a list or overlay of the image first.', 'values'),
    'postscripts|p': refused('nodes keep their postscripts; lsdef -i postscripts shows them.', 'value'),
    'remotehost|R': refused(otherHost, 'value'),
  },
  version: false,
  operands: 2,
  common: longWorking,
  async run(invocation, call) {
    const [image, destination] = call.operands;
    if (image === undefined) return say(invocation, imgexport.usage);
    invocation.stdout.line(`Exporting ${image} to ${destination ?? process.cwd()}...`);
    if (!(await definitionOf(invocation, image))) return 1;
    return workOnImage(
      invocation,
      call,
      image,
      'export',
      destination === undefined ? [] : [{ destination: resolve(destination) }],
    );
  },
});

export const imgimport = xcatCommand({
  names: 'file',
  usage: `Usage: imgimport FILE [-f PROFILE] [-n NAME]

  Makes an image from a file that imgexport has written.`,
  options: {
    'profile|f': filled('PROFILE', 'the profile of the image'),
    'name|n': filled('NAME', 'the name of the image'),
    'postscripts|p': refused('postscripts of nodes are set with chdef.', 'value'),
    'remotehost|R': refused(otherHost, 'value'),
    'verbose|v': verbose['verbose|V']!,
  },
  version: false,
  operands: 1,
  common: longWorking,
  async run(invocation, call) {
    const [given] = call.operands;
    if (given === undefined) return say(invocation, imgimport.usage);
    const file = resolve(given);
    const params = paramsOf(call, { profile: 'profile', name: 'name' });
    const body = { file, ...(params.length > 0 ? { params } : {}) };
    const ok = await longWork(invocation, '/osimages', body, call.common, (sentences) =>
      sentences.some((sentence) => /no file|cannot be read|outside/i.test(sentence)) && !existsSync(file)
        ? [`Cannot find ${file}`]
        : sentences,
    );
    return ok ? 0 : 1;
  },
});

export const lsimage: CliCommand = xcatCommand({
  usage: `Usage: lsimage [IMAGE]

  Shows what is built and packed of an image; without a name, lists all images.`,
  operands: 1,
  common: reading,
  async run(invocation, { operands: [image], common: { format } }) {
    const { client, stdout } = invocation;
    if (image !== undefined) {
      if (!(await definitionOf(invocation, image))) return 1;
      const instance = (await client.get(path('osimages', image, 'instance'))) as Record<string, unknown>;
      return format ? writeData(invocation, format, [instance]) : say(invocation, JSON.stringify(instance, null, 2));
    }
    const images = (await client.get('/osimages')) as string[];
    if (format)
      return writeData(
        invocation,
        format,
        images.map((name) => ({ image: name })),
      );
    for (const name of images) await stdout.line(name);
    return 0;
  },
});

export const rmimage = xcatCommand({
  usage: `Usage: rmimage IMAGE [--xcatdef] [--force]

  Removes what genimage and packimage have made of an image.`,
  options: { xcatdef: flag('its definition too'), force: flag('also if nodes are set to it'), ...verbose },
  operands: 1,
  common: acting,
  async run(invocation, call) {
    const { client } = invocation;
    const [image] = call.operands;
    if (image === undefined) return say(invocation, rmimage.usage);
    if (!(await definitionOf(invocation, image, `Invalid image name ${image}`))) return 1;
    const query = call.flag('force') ? '?force=1' : '';
    await client.call('DELETE', path('osimages', image, 'instance') + query);
    if (call.flag('xcatdef')) await client.call('DELETE', path('osimages', image) + query);
    return say(invocation, 'Image files have been removed successfully from this management node.');
  },
});

const unreadable = (file: string): string =>
  `The management server was unable to find/read ${file.startsWith('/') ? file : `${process.cwd()}/${file}`}. Ensure that file exists on the server at the specified location.`;

export const copycds = xcatCommand({
  names: 'file',
  usage: `Usage: copycds [-n NAME] [-a ARCH] [-p PATH] [-i] [-o] [-w] FILE...

  Copies install media to the management node and defines their images.`,
  options: {
    'n|name|osver': filled('NAME', 'operating system of the medium, such as rocky9.6, if the medium does not say'),
    'a|arch': filled('ARCH', 'its architecture, if the medium does not say'),
    'p|path': filled('PATH', 'directory to copy to'),
    'i|inspection': flag('only say what the medium is'),
    'o|noosimage': flag('define no images'),
    'w|nonoverwrite': flag('leave a tree that exists as it is'),
  },
  version: false,
  // As in xCAT an unknown option is taken for a name, which nothing has.
  rules: { passUnknown: true },
  common: longWorking,
  async run(invocation, call) {
    if (call.operands.length === 0) return say(invocation, copycds.usage, 1);
    const option = call.operands.find((word) => word.startsWith('-'));
    if (option !== undefined) {
      invocation.stderr.line(errorLine(unreadable(option), await invocation.client.serverName()));
      invocation.stderr.line(
        noteLine(`copycds has no option ${option}; copycds -h lists those it has. Write ./${option} if it is a file.`),
      );
      return 1;
    }
    const params = paramsOf(call, { '-n': 'n', '-a': 'a', '-p': 'p', '-i': 'i', '-o': 'o', '-w': 'w' });
    for (const file of call.operands) {
      const body = { iso: resolve(file), ...(params.length > 0 ? { params } : {}) };
      const isMissing = /outside|no file|no such file|does not exist|cannot be (read|opened)/i;
      const ok = await longWork(invocation, '/osimages', body, call.common, (sentences) =>
        sentences.some((sentence) => isMissing.test(sentence)) && !existsSync(file) ? [unreadable(file)] : sentences,
      );
      if (!ok) return 1;
    }
    return 0;
  },
});
