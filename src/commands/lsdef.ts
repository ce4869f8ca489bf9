import { nodeTables } from '../database/tables.ts';
import { chosenAttributes, objectAttributes, objectNames } from '../objects/definitions.ts';
import { effectiveReader } from '../objects/effective.ts';
import { explainAttribute } from '../objects/explain.ts';
import { nodeAttributes } from '../objects/node-attributes.ts';
import { emptyRange, existingObjects, policyNodes } from '../objects/select.ts';
import { attributeNamed, groupType, nodeType, type ObjectType, typeNamed } from '../objects/types.ts';
import { type Answer, noSelection, query } from './command.ts';

export interface LsdefArgs {
  readonly type: string;
  /** A range or a list of names; undefined: all objects of the type. */
  readonly names?: string;
  /** Only these attributes. */
  readonly attributes?: readonly string[];
  /** Where this attribute comes from, instead of the attributes. */
  readonly explain?: string;
  /** The names alone. */
  readonly short?: boolean;
  /** Whether a range that selects nothing is refused. */
  readonly refuseEmpty?: boolean;
}

export const lsdef = query<LsdefArgs>({
  name: 'lsdef',
  select(snapshot, { type: typeName, names, short, refuseEmpty }, { ranges }) {
    const type = typeNamed(typeName);
    if (names === undefined) {
      if (type.name === 'site') return noSelection;
      const all = objectNames(snapshot, type);
      return { objects: all, nodes: short && type.name !== 'node' ? undefined : policyNodes(snapshot, type, all) };
    }
    const objects = existingObjects(snapshot, type, names, ranges);
    if (objects.length === 0 && refuseEmpty) throw emptyRange(names);
    return { objects, nodes: policyNodes(snapshot, type, objects, ranges.sees) };
  },
  run(snapshot, args, { catalog, selection }): Answer {
    const type = typeNamed(args.type);
    const names = selection.objects ?? objectNames(snapshot, type);
    const dependsOn = tablesBehind(type);
    if (args.short) return { shape: 'list', items: names, dependsOn };
    const { attributes } = args;
    if (attributes) {
      if (type.name !== 'site') for (const attribute of attributes) attributeNamed(type, attribute);
      const objects = {
        shape: 'objects',
        names,
        dependsOn,
        attributes: (name: string) => chosenAttributes(snapshot, type, name, attributes),
      } as const;
      // The site has no object to show when none of the attributes is set.
      if (type.name === 'site' && Object.keys(objects.attributes(names[0]!)).length === 0)
        return { ...objects, names: [] };
      return objects;
    }
    if (type.name !== 'node')
      return { shape: 'objects', names, dependsOn, attributes: (name) => objectAttributes(snapshot, type, name) };
    const reader = effectiveReader(snapshot);
    const { explain } = args;
    if (explain !== undefined) {
      attributeNamed(type, explain);
      return { shape: 'objects', names, attributes: (name) => explainAttribute(reader, name, explain) };
    }
    return {
      shape: 'objects',
      names,
      attributes: (name) => nodeAttributes(reader, name),
      text: (name) => catalog.text(snapshot, name),
      wholeCatalog: args.names === undefined,
      dependsOn,
    };
  },
});

/** Nodes and groups depend on each other and on settings of the site; other objects only on their own tables. */
const clusterTables = [...nodeTables.map((table) => table.name), 'nodegroup', 'site'];

const tablesBehind = (type: ObjectType): readonly string[] =>
  type === nodeType || type === groupType ? clusterTables : type.tables;
