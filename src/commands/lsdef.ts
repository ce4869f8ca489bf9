import { Type } from 'typebox';
import type { Interruptible } from '../core/slices.ts';
import { chosenAttributes, objectAttributes, objectNames, siteObject } from '../objects/definitions.ts';
import { effectiveReader, explainAttribute, ownAttributes } from '../objects/effective.ts';
import { type Attributes, nodeAttributes, withoutDefaultScripts } from '../objects/node-attributes.ts';
import { emptyRange, existingObjects, namedObjects, readSelection } from '../objects/select.ts';
import { definitionWords } from '../objects/shown-arguments.ts';
import { attributeNamed, nodeType, tablesBehind, typeNamed } from '../objects/types.ts';
import { mostUnknownNames } from '../objects/cluster.ts';
import { checkAttributeNames } from '../objects/define.ts';
import { allMembers, allNodes } from '../objects/groups.ts';
import { type Answer, noSelection, query, type Selection } from './command.ts';

export const lsdef = query({
  name: 'lsdef',
  showsPast: () => true,
  args: Type.Object({
    type: Type.String(),
    names: Type.Optional(
      Type.String({ description: 'a range or a list of names; without it all objects of the type' }),
    ),
    attributes: Type.Optional(Type.Array(Type.String(), { description: 'only these' })),
    explain: Type.Optional(Type.String({ description: 'where this attribute comes from, instead of the attributes' })),
    short: Type.Optional(Type.Boolean({ description: 'the names alone' })),
    refuseEmpty: Type.Optional(Type.Boolean({ description: 'whether a range that selects nothing is refused' })),
    hidden: Type.Optional(Type.Boolean({ description: 'whether hidden nodes are among the members of groups' })),
    hiddenNodes: Type.Optional(Type.Boolean({ description: 'whether hidden nodes are listed too' })),
    skipMissing: Type.Optional(Type.Boolean({ description: 'whether names that nothing has are passed over' })),
    ownScripts: Type.Optional(
      Type.Boolean({
        description: 'whether the scripts of all nodes are left out, as for those who write back what they read',
      }),
    ),
    ownValues: Type.Optional(
      Type.Boolean({ description: 'only what is stored at the nodes themselves, and as it is stored' }),
    ),
  }),
  uses: ['catalog'],
  line({ type, names, attributes, explain, short }) {
    const chosen = attributes?.join(',') ?? explain;
    return [
      ...(names === undefined
        ? ['-t', type, short ? '-s' : type === 'site' ? siteObject : '-l']
        : definitionWords(type, names)),
      ...(chosen === undefined ? [] : ['-i', chosen]),
    ];
  },
  select(snapshot, args, { ranges: usual }): Selection | Interruptible<Selection> {
    const { names, short, refuseEmpty } = args;
    const type = typeNamed(args.type);
    const ranges = args.hiddenNodes ? { ...usual, hidden: true } : usual;
    if (names === undefined) {
      if (type.name === 'site') return noSelection;
      const all = args.hiddenNodes && type === nodeType ? allNodes(snapshot) : objectNames(snapshot, type);
      const isAboutNodes = !short || type.name === 'node';
      return isAboutNodes ? readSelection(snapshot, type, all) : { objects: all, nodes: undefined };
    }
    const objects = args.skipMissing
      ? namedObjects(snapshot, type, names, ranges, mostUnknownNames).existing
      : existingObjects(snapshot, type, names, ranges);
    if (objects.length === 0 && refuseEmpty) throw emptyRange(names);
    return readSelection(snapshot, type, objects, ranges.sees);
  },
  run(snapshot, args, { catalog, selection }): Answer {
    const type = typeNamed(args.type);
    const names = selection.objects ?? objectNames(snapshot, type);
    const dependsOn = tablesBehind(type);
    if (args.short) return { shape: 'list', items: names, dependsOn };
    const { attributes } = args;
    const members = (name: string, shown: Attributes): Attributes =>
      args.hidden && type.name === 'group' && shown['members'] !== undefined
        ? { ...shown, members: allMembers(snapshot, name).join(',') }
        : shown;
    const own = (shown: Attributes): Attributes =>
      args.ownScripts && type === nodeType ? withoutDefaultScripts(snapshot, shown) : shown;
    if (attributes) {
      checkAttributeNames(type, Object.fromEntries(attributes.map((name) => [name, ''])), true);
      const objects = {
        shape: 'objects',
        names,
        dependsOn,
        attributes: (name: string) => own(members(name, chosenAttributes(snapshot, type, name, attributes))),
      } as const;
      // The site has no object to show when none of the attributes is set.
      if (type.name === 'site' && Object.keys(objects.attributes(names[0]!)).length === 0)
        return { ...objects, names: [] };
      return objects;
    }
    if (type.name !== 'node')
      return {
        shape: 'objects',
        names,
        dependsOn,
        attributes: (name) => members(name, objectAttributes(snapshot, type, name)),
      };
    const reader = effectiveReader(snapshot);
    const { explain } = args;
    if (explain !== undefined) {
      attributeNamed(type, explain);
      return { shape: 'objects', names, attributes: (name) => explainAttribute(reader, name, explain) };
    }
    return {
      shape: 'objects',
      names,
      attributes: (name) => (args.ownValues ? ownAttributes(reader, name) : own(nodeAttributes(reader, name))),
      ...(args.ownScripts || args.ownValues ? {} : { text: (name: string) => catalog.text(snapshot, name) }),
      wholeCatalog: args.names === undefined && !args.ownScripts && !args.ownValues && !args.hiddenNodes,
      dependsOn,
    };
  },
});
