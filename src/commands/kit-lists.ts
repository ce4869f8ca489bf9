import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import {
  componentOf,
  componentsOfImage,
  componentsOfKit,
  componentType,
  deployParameters,
  kitsNamed,
  kitType,
  misfit,
  reposOf,
  repoType,
  systemOfDistro,
} from '../images/index.ts';
import { objectAttributes, objectExists, objectNames } from '../objects/definitions.ts';
import { type ObjectType, typeNamed } from '../objects/types.ts';
import { noArguments, noLine, query } from './command.ts';

const osimage = typeNamed('osimage');
const osdistro = typeNamed('osdistro');

type Shown = Readonly<Record<string, unknown>>;

const shown = (snapshot: Snapshot, type: ObjectType, name: string): Shown => ({
  [type.key]: name,
  ...objectAttributes(snapshot, type, name),
});

/** The images that have each component. */
function imagesByComponent(snapshot: Snapshot): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const image of objectNames(snapshot, osimage))
    for (const component of componentsOfImage(snapshot, image))
      found.set(component, [...(found.get(component) ?? []), image]);
  return found;
}

/** All kits, with their repositories and components. */
export const lskit = query({
  name: 'lskit',
  args: noArguments,
  line: noLine,
  run(snapshot) {
    const images = imagesByComponent(snapshot);
    const kits = objectNames(snapshot, kitType).map((name) => ({
      kit: shown(snapshot, kitType, name),
      repos: reposOf(snapshot, name).map((repo) => shown(snapshot, repoType, repo)),
      components: componentsOfKit(snapshot, name).map((component) => shown(snapshot, componentType, component.name)),
      images: Object.fromEntries(
        componentsOfKit(snapshot, name).flatMap((component) => {
          const users = images.get(component.name);
          return users ? [[component.name, users]] : [];
        }),
      ),
    }));
    return { shape: 'value', value: { kits } };
  },
});

const componentArguments = Type.Object({
  osdistro: Type.Optional(Type.String({ description: 'only those that fit this operating system' })),
});

export const lskitcomp = query({
  name: 'lskitcomp',
  args: componentArguments,
  line: ({ osdistro: wanted }) => (wanted === undefined ? [] : ['-O', wanted]),
  run(snapshot, { osdistro: wanted }) {
    if (wanted !== undefined && !objectExists(snapshot, osdistro, wanted))
      throw new Fault(
        'unknown-object',
        `There is no operating system ${wanted}; GET /definitions/osdistro lists them.`,
        {
          reference: [`The following osdistro is not valid: ${wanted}.`],
          missing: [wanted],
        },
      );
    const system = wanted === undefined ? undefined : systemOfDistro(snapshot, wanted);
    const names = objectNames(snapshot, componentType).filter(
      (name) => !system || misfit(snapshot, componentOf(snapshot, name), system) === undefined,
    );
    return { shape: 'value', value: { kitcomponents: names.map((name) => shown(snapshot, componentType, name)) } };
  },
});

/** The variables that a kit gives to package managers and scripts. */
export const lskitdeployparam = query({
  name: 'lskitdeployparam',
  args: Type.Object({ kit: Type.String() }),
  uses: ['images'],
  line: ({ kit }) => ['-k', kit],
  select: (snapshot, { kit }) => ({ objects: kitsNamed(snapshot, kit), nodes: undefined }),
  run: (snapshot, { kit }, { images: { paths } }) => ({
    shape: 'value',
    value: Object.fromEntries(kitsNamed(snapshot, kit).flatMap((name) => deployParameters({ snapshot, paths }, name))),
  }),
});
