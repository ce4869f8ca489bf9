import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import { checkAttributeNames, createObject, removeObject } from '../objects/define.ts';
import { emptyRange, namedObjects, policyNodes, policyNodesInSlices } from '../objects/select.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { definitionWords } from '../objects/shown-arguments.ts';
import { fromTemplate, isShipped } from '../objects/templates.ts';
import { tablesBehind, typeNamed } from '../objects/types.ts';
import { type Answer, change, nothing, type Selection, textMap } from './command.ts';

export const mkdef = change({
  name: 'mkdef',
  args: Type.Object({
    type: Type.String(),
    names: Type.String(),
    attributes: textMap,
    template: Type.Optional(Type.String()),
    force: Type.Optional(Type.Boolean({ description: 'replaces what exists' })),
  }),
  line({ type, names, attributes, template, force }) {
    const flags = [
      ...(force ? ['-f'] : []),
      ...(template === undefined ? [] : ['--template', withoutSecrets(template)]),
    ];
    return definitionWords(type, names, attributes, flags);
  },
  tablesShown: ({ type }) => tablesBehind(typeNamed(type)),
  *select(snapshot, { type: typeName, names }, { ranges }): Interruptible<Selection> {
    const type = typeNamed(typeName);
    const { existing, missing } = namedObjects(snapshot, type, names, ranges);
    if (existing.length + missing.length === 0) throw emptyRange(names);
    const nodes = yield* policyNodesInSlices(snapshot, type, [...existing, ...missing], ranges.sees);
    return { objects: existing, missing, nodes };
  },
  reads(snapshot, { type: typeName, template }) {
    const type = typeNamed(typeName);
    if (template === undefined || isShipped(type, template)) return undefined;
    return { words: definitionWords(typeName, template), nodes: policyNodes(snapshot, type, [template]) };
  },
  *plan(
    draft,
    { type: typeName, names, attributes: given, template, force },
    { ranges, selection },
  ): Interruptible<Answer> {
    const type = typeNamed(typeName);
    const attributes = template === undefined ? given : fromTemplate(draft.base, type, template, given);
    checkAttributeNames(type, attributes);
    if (Object.keys(attributes).length === 0) {
      const hint = type.name === 'node' ? ' A node needs at least groups, for example {"groups":"all"}.' : '';
      throw new Fault('invalid', `No attributes were given for "${names}".${hint}`);
    }
    const { objects: existing = [], missing = [] } = selection;
    if (existing.length > 0 && !force) {
      const sample = existing.slice(0, 10).join(', ');
      throw new Fault(
        'invalid',
        `Already defined: ${sample}${existing.length > 10 ? ', ...' : ''}. Send "options":{"-f":""} along to replace, or PUT to change.`,
        { reference: ['0 object definitions have been created or modified.'] },
      );
    }
    yield* eachInSlices(existing, (name) => removeObject(draft, type, name));
    yield* eachInSlices([...existing, ...missing], (name) => createObject(draft, type, name, attributes, ranges));
    return nothing;
  },
});
