import type { Draft } from '../../database/draft.ts';
import { changeObject, createObject } from '../../objects/define.ts';
import { objectExists, storedAttribute } from '../../objects/definitions.ts';
import type { RangeOptions } from '../../objects/cluster.ts';
import { listItems } from '../../core/list-items.ts';
import { typeNamed } from '../../objects/types.ts';
import type { MediumMade } from './copy-medium.ts';

const osimage = typeNamed('osimage');
const osdistro = typeNamed('osdistro');

/** Arguments of the kernel that a new image begins with; an administrator may have others since. */
const firstArguments = { addkcmdline: 'quiet' } as const;

/** The operating system and its images. What exists gets these attributes again, as in the reference system, and keeps all others. */
export function defineImages(
  draft: Draft,
  { os, release, directories, images }: MediumMade,
  ranges: RangeOptions,
): void {
  const { base, version, arch } = release;
  const name = `${os}-${arch}`;
  const [majorversion, ...minor] = version.split('.');
  const earlier = objectExists(draft.base, osdistro, name)
    ? storedAttribute(draft.base, osdistro, name, 'dirpaths')
    : '';
  const dirpaths = [...new Set([...listItems(earlier ?? ''), ...directories])].join(',');
  const attributes = {
    basename: base,
    majorversion: majorversion!,
    minorversion: minor.join('.'),
    arch,
    type: 'Linux',
    dirpaths,
  };
  if (objectExists(draft.base, osdistro, name)) changeObject(draft, osdistro, name, attributes, 'set', ranges);
  else createObject(draft, osdistro, name, attributes, ranges);
  for (const image of images) {
    if (objectExists(draft.base, osimage, image.name))
      changeObject(draft, osimage, image.name, image.attributes, 'set', ranges);
    else createObject(draft, osimage, image.name, { ...firstArguments, ...image.attributes }, ranges);
  }
}
