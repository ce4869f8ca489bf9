import { isAbsolute, join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { tableNamed } from '../../database/tables.ts';
import { type ImagePaths, privateName } from '../../images/index.ts';
import { listItems } from '../../core/list-items.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { imageOf } from '../../objects/node-image.ts';

const overlayTable = tableNamed('nodeoverlay');

/** A directory of files for nodes. */
export interface OverlaySource {
  /** As the attribute `overlay` names it. */
  readonly name: string;
  /** Where it really lies. */
  readonly directory: string;
}

/** The overlays of a node, the first first: those of its image, then its own or those of its group. */
export function overlayNames(reader: EffectiveReader, node: string): readonly string[] {
  const ofImage = listItems(imageOf(reader, node).attribute('overlay'));
  const own = listItems(reader.row(overlayTable, node)?.['overlay'] ?? '');
  return [...new Set([...ofImage, ...own])];
}

/** A plain name is a directory below `overlays` of the install directory; a path is judged like all that images are made from. */
export function overlaySources(reader: EffectiveReader, paths: ImagePaths, node: string): OverlaySource[] {
  const { snapshot } = reader;
  return overlayNames(reader, node).map((name) => {
    if (!isAbsolute(name) && !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
      throw new Fault(
        'invalid',
        `The overlay ${JSON.stringify(name)} of ${node} is neither the name of a directory below ${join(paths.installDirectory(snapshot), 'overlays')} nor a full path.`,
      );
    const path = isAbsolute(name) ? name : join(paths.installDirectory(snapshot), 'overlays', name);
    const directory = paths.source(snapshot, path, `The overlay ${name} of ${node}:`);
    // The tree of an image has root's password and the keys of its nodes.
    if (directory.split('/').includes(privateName))
      throw new Fault('invalid', `The overlay ${name} of ${node} is part of the tree of an image; copy what you need.`);
    return { name, directory };
  });
}
