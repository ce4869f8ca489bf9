import { Type } from 'typebox';
import { checkUnused } from '../boot/index.ts';
import { Fault } from '../core/errors.ts';
import { programFile } from '../core/home.ts';
import { inSlices } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { checkImage, isBelow, type MediumRemoval, realPlace, type RemovedMedium } from '../images/index.ts';
import { removeObject } from '../objects/define.ts';
import { objectNames, storedAttribute } from '../objects/definitions.ts';
import { listItems } from '../core/list-items.ts';
import { existingObjects } from '../objects/select.ts';
import { typeNamed } from '../objects/types.ts';
import { query } from './command.ts';
import { imageArgument, selectImage } from './image.ts';
import { long } from './long.ts';

const osimage = typeNamed('osimage');
const osdistro = typeNamed('osdistro');

/** Whether nodes can boot an image, and whether the files that its definition names are there. */
export const chkosimage = query({
  name: 'chkosimage',
  args: Type.Object(imageArgument),
  uses: ['images', 'boot'],
  line: ({ image }) => [image],
  select: selectImage,
  async run(snapshot, { image }, { images, boot }) {
    const { found, problems } = checkImage(snapshot, images, image);
    const problem = (await boot.readiness(snapshot, new Map([[image, []]]))).get(image)?.problem;
    return { shape: 'value', value: { found, problems: [...problems, ...(problem === undefined ? [] : [problem])] } };
  },
});

const args = Type.Object({
  distro: Type.String(),
  force: Type.Optional(
    Type.Boolean({ description: 'also if images are installed from it, or another osdistro has the same directories' }),
  ),
});

/** Removes what copycds has made of the media of an operating system. */
export const rmosdistro = long({
  name: 'rmosdistro',
  args,
  uses: ['images'],
  line: ({ distro, force }) => [...(force ? ['-f'] : []), distro],
  select: (snapshot, { distro }, { ranges }) => ({
    objects: existingObjects(snapshot, osdistro, distro, ranges),
    nodes: undefined,
  }),
  subject: ({ distro }) => `medium ${distro}`,
  async prepare(snapshot, { distro, force }, { images, ranges }): Promise<MediumRemoval> {
    const named = listItems(storedAttribute(snapshot, osdistro, distro, 'dirpaths') ?? '');
    const directories = named.map((path) => images.paths.place(snapshot, path, `${distro}: dirpaths`));
    const others = distrosIn(snapshot, directories).filter((name) => name !== distro);
    if (others.length > 0 && !force)
      throw new Fault('invalid', [
        `${distro} cannot be removed: the dirpaths of ${others.join(', ')} have the same directories.`,
        'Correct dirpaths of the one that is wrong. To remove the directories all the same, use force.',
      ]);
    const users = imagesFrom(snapshot, distro, directories);
    if (users.length > 0 && !force)
      throw new Fault('invalid', [
        `${distro} cannot be removed: the images ${users.join(', ')} are installed from it.`,
        'To remove it all the same, use force.',
      ]);
    await inSlices(checkUnused(() => snapshot, users, { force, sees: ranges.sees }));
    return { distro, directories };
  },
  module: programFile('images/media/remove-medium'),
  plan: (draft, _made: RemovedMedium, { distro }) => removeObject(draft, osdistro, distro),
  answer: ({ messages }: RemovedMedium) => ({ shape: 'none', messages }),
});

/** Operating systems that have media in one of these directories, or one of these in theirs. */
const distrosIn = (snapshot: Snapshot, directories: readonly string[]): string[] =>
  objectNames(snapshot, osdistro).filter((name) =>
    listItems(storedAttribute(snapshot, osdistro, name, 'dirpaths') ?? '')
      .filter((path) => path.startsWith('/'))
      .map(realPlace)
      .some((path) => directories.some((each) => isBelow(path, each) || isBelow(each, path))),
  );

/** Images that name the operating system, or have packages in its directories. */
const imagesFrom = (snapshot: Snapshot, distro: string, directories: readonly string[]): string[] =>
  objectNames(snapshot, osimage).filter((name) => {
    const attribute = (wanted: string): string => storedAttribute(snapshot, osimage, name, wanted) ?? '';
    if (attribute('osdistroname') === distro) return true;
    return listItems(attribute('pkgdir'))
      .filter((path) => path.startsWith('/'))
      .some((path) => directories.some((directory) => isBelow(realPlace(path), directory)));
  });
