import type { Draft } from '../database/draft.ts';
import { tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from '../objects/effective.ts';
import { type Decision, diskOf, endsOnDisk } from './decision.ts';
import { type ReadinessByImage, readyFor } from './readiness.ts';

/** What was decided of a state that stands behind others in a list. In its turn it counts, whatever definitions say by then. */
export interface Later extends Partial<Decision> {
  /** As it stands in the list. */
  readonly item: string;
  /** The state that the image meant then. */
  readonly state?: string | undefined;
}

const table = 'bootchoice';
const chainTable = tableNamed('chain');

/** The state that an image brings a node to; undefined: it is not defined, or lacks something. */
function stateOfImage(draft: Draft, name: string): { readonly method: string; readonly state: string } | undefined {
  const { provmethod, osvers, osarch, profile } = draft.base.get('osimage', name) ?? {};
  if (!provmethod || !osvers || !osarch || !profile) return undefined;
  return { method: provmethod, state: `${provmethod} ${osvers}-${osarch}-${profile}` };
}

/** Decides what stands in a list behind the image that the node has by then. Undefined: nothing in it is an image. */
export function decideLater(
  draft: Draft,
  reader: EffectiveReader,
  node: string,
  { rest, image: present }: { readonly rest: string; readonly image: string },
  readiness: ReadinessByImage | undefined,
): readonly Later[] | undefined {
  if (!/(^|,)\s*osimage/.test(rest)) return undefined;
  let image = present;
  return rest.split(',').map((item): Later => {
    const named = /^osimage(?:=(.*))?$/.exec(item);
    if (!named) return { item };
    image = named[1] || image;
    const found = stateOfImage(draft, image);
    const disk = !found || endsOnDisk(found.method) ? diskOf(reader, node) : undefined;
    const { pack, layout } = disk === undefined ? {} : (readyFor(readiness, image, node) ?? {});
    return { item, state: found?.state, image, disk, pack, layout };
  });
}

/** As a column of the row that holds the decision on the present state. */
export const laterText = (later: readonly Later[] | undefined): string | undefined =>
  later?.some(({ image }) => image !== undefined) ? JSON.stringify(later) : undefined;

/** What was decided of all that is left of the node's list; undefined: somebody wrote that list by hand. */
export function laterOf(reader: EffectiveReader, node: string): readonly Later[] | undefined {
  const { state, later } = reader.snapshot.get(table, node) ?? {};
  const { currstate, currchain } = reader.row(chainTable, node) ?? {};
  if (later === undefined || state !== currstate) return undefined;
  const decided = JSON.parse(later) as readonly Later[];
  return decided.map(({ item }) => item).join(',') === currchain ? decided : undefined;
}
