import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import { checkAttributeNames, createObject, type Given, knownMembers, removeObject } from '../objects/define.ts';
import {
  questionsOfSet,
  resolved,
  type Resolved,
  selectionOf,
  tablesOfSet,
  wordsOfSet,
} from '../objects/definition-set.ts';
import { policyNodes, emptyRange } from '../objects/select.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { definitionWords } from '../objects/shown-arguments.ts';
import { fromTemplate, isShipped } from '../objects/templates.ts';
import { typeNamed } from '../objects/types.ts';
import { type Answer, type Arguments, change, definitionSet, type Scope, type Selection } from './command.ts';

const args = Type.Object({
  definitions: definitionSet,
  template: Type.Optional(Type.String()),
  existing: Type.Optional(
    Type.Enum(['refuse', 'keep', 'replace'], { description: 'what becomes of objects that exist already' }),
  ),
  members: Type.Optional(
    Type.Enum(['refuse', 'skip'], {
      description: 'what becomes of names among the members of groups that no node has',
    }),
  ),
});
type Args = Arguments<typeof args>;

const flagsOf = ({ template, existing }: Args): string[] => [
  ...(existing === 'replace' ? ['-f'] : []),
  ...(template === undefined ? [] : ['--template', withoutSecrets(template)]),
];

/** Makes objects of any types in one change, and says what became of each; the policy knows it as mkdef. */
export const mkdefs = change({
  name: 'mkdef',
  args,
  line: (given) => wordsOfSet(given.definitions, flagsOf(given)),
  tablesShown: ({ definitions }) => tablesOfSet(definitions),
  *select(snapshot, { definitions }, { ranges }): Interruptible<Selection> {
    const set = definitions.map((each) => resolved(snapshot, each, ranges));
    for (const [at, { existing, missing }] of set.entries())
      if (existing.length + missing.length === 0) throw emptyRange(definitions[at]!.names);
    return yield* selectionOf(snapshot, set, ranges.sees);
  },
  questions: (snapshot, given) =>
    given.definitions.length > 1 ? questionsOfSet(snapshot, given.definitions, flagsOf(given)) : undefined,
  reads(snapshot, { definitions, template }) {
    const type = typeNamed(definitions[0]?.type ?? 'node');
    if (template === undefined || isShipped(type, template)) return undefined;
    return { words: definitionWords(type.name, template), nodes: policyNodes(snapshot, type, [template]) };
  },
  *plan(
    draft,
    { definitions, template, existing: fate = 'refuse', members },
    { ranges }: Scope,
  ): Interruptible<Answer> {
    const set = definitions.map((each) => resolved(draft.base, each, ranges));
    const made: Resolved[] = [];
    for (const each of set) {
      const attributes =
        template === undefined ? each.attributes : fromTemplate(draft.base, each.type, template, each.attributes);
      checkAttributeNames(each.type, attributes);
      if (Object.keys(attributes).length === 0) throw noAttributes([...each.existing, ...each.missing]);
      made.push({ ...each, attributes });
      yield;
    }
    const kept = fate === 'keep' ? made.flatMap(({ existing }) => existing) : [];
    if (fate === 'refuse') refuseExisting(made.flatMap(({ existing }) => existing));
    const created: string[] = [];
    const replaced: string[] = [];
    const unknownMembers: string[] = [];
    for (const { type, existing, missing, attributes } of made) {
      const given = members === 'skip' && type.name === 'group' ? withKnown(attributes) : attributes;
      const again = fate === 'replace' ? existing : [];
      yield* eachInSlices(again, (name) => removeObject(draft, type, name));
      yield* eachInSlices([...again, ...missing], (name) => createObject(draft, type, name, given, ranges));
      created.push(...missing);
      replaced.push(...again);
    }
    return { shape: 'value', value: { created, replaced, kept, unknownMembers } };

    function withKnown(attributes: Given): Given {
      if (!attributes['members']) return attributes;
      const { known, unknown } = knownMembers(draft.base, attributes['members'], ranges);
      unknownMembers.push(...unknown);
      return unknown.length > 0 ? { ...attributes, members: known.join(',') } : attributes;
    }
  },
});

function noAttributes(names: readonly string[]): Fault {
  return new Fault('invalid', `No attributes were given for "${names.slice(0, 10).join(',')}".`, {
    reference: ['No object definitions have been created or modified: no attributes were specified.'],
  });
}

function refuseExisting(existing: readonly string[]): void {
  if (existing.length === 0) return;
  const sample = existing.slice(0, 10).join(', ');
  throw new Fault(
    'invalid',
    `Already defined: ${sample}${existing.length > 10 ? ', ...' : ''}. Send "existing":"replace" or "keep" along, or PUT to change.`,
    { reference: ['0 object definitions have been created or modified.'] },
  );
}
