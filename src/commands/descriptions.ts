import { Type } from 'typebox';
import { attributeList, attributeLists } from '../objects/attribute-list.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { isShipped, nodeTemplates, templateAttributes } from '../objects/templates.ts';
import { nodeType, objectTypes } from '../objects/types.ts';
import { noArguments, noLine, noSelection, query } from './command.ts';

/** It says nothing of the cluster, so whoever is logged in may know it. */
export const lstypes = query({
  name: 'lstypes',
  free: true,
  args: noArguments,
  line: noLine,
  select: () => noSelection,
  run: () => ({ shape: 'list', items: [...objectTypes.keys()].sort() }),
});

/** It says nothing of the cluster, so whoever is logged in may know it. */
export const lsattributes = query({
  name: 'lsattributes',
  free: true,
  args: Type.Object({ type: Type.Optional(Type.String({ description: 'without it all of them' })) }),
  line: ({ type }) => (type === undefined ? [] : [type]),
  select: () => noSelection,
  run: (_snapshot, { type }) => ({
    shape: 'value',
    value: type === undefined ? Object.fromEntries(attributeLists) : { [type]: attributeList(type) },
  }),
});

/** Templates are read with lsdef's option --template, so the policy knows this by that name. */
export const lstemplate = query({
  name: 'lsdef',
  args: Type.Object({ template: Type.Optional(Type.String({ description: 'without it their names are listed' })) }),
  line: ({ template }) => ['--template', template === undefined ? '-a' : withoutSecrets(template)],
  select(_snapshot, { template }) {
    if (template === undefined || isShipped(nodeType, template)) return noSelection;
    return { objects: [template], nodes: [template] };
  },
  run(snapshot, { template }) {
    if (template === undefined) return { shape: 'list', items: [...nodeTemplates.keys()] };
    const attributes = templateAttributes(snapshot, nodeType, template);
    return { shape: 'objects', names: [template], attributes: () => attributes };
  },
});
