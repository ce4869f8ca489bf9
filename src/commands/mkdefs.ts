import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { usualAttributes } from '../images/index.ts';
import { checkAttributeNames, createObject, type Given, knownMembers, removeObject } from '../objects/define.ts';
import {
  questionsOfSet,
  resolved,
  type Resolved,
  selectionOf,
  tablesOfSet,
  wordsOfSet,
} from '../objects/definition-set.ts';
import { effectiveReader } from '../objects/effective.ts';
import { invalidName } from '../objects/names.ts';
import { installDirectory } from '../objects/node-image.ts';
import { policyNodes, emptyRange } from '../objects/select.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { definitionWords } from '../objects/shown-arguments.ts';
import { fromTemplate, isShipped } from '../objects/templates.ts';
import { typeNamed } from '../objects/types.ts';
import { type Answer, type Arguments, change, definitionSet, type Scope, type Selection } from './command.ts';

const args = Type.Object({
  definitions: definitionSet,
  template: Type.Optional(Type.String()),
  fill: Type.Optional(
    Type.Boolean({
      description: 'gives images the files and directories of their profile, provmethod, osvers and osarch',
    }),
  ),
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

const flagsOf = ({ template, existing, fill }: Args): string[] => [
  ...(existing === 'replace' ? ['-f'] : []),
  ...(template === undefined ? [] : ['--template', withoutSecrets(template)]),
  ...(fill ? ['-u'] : []),
];

/** Makes objects of any types in one change, and says what became of each; the policy knows it as mkdef. */
export const mkdefs = change({
  name: 'mkdef',
  args,
  line: (given) => wordsOfSet(given.definitions, flagsOf(given)),
  tablesShown: ({ definitions }) => tablesOfSet(definitions),
  *select(snapshot, { definitions }, { ranges }): Interruptible<Selection> {
    const set = definitions.map((each) => withNewNames(each.names, () => resolved(snapshot, each, ranges)));
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
    { definitions, template, fill, existing: fate = 'refuse', members },
    { ranges }: Scope,
  ): Interruptible<Answer> {
    const set = definitions.map((each) => resolved(draft.base, each, ranges));
    const made: Resolved[] = [];
    for (const each of set) {
      const begun =
        template === undefined ? each.attributes : fromTemplate(draft.base, each.type, template, each.attributes);
      const attributes = fill ? filled(draft.base, each, begun) : begun;
      checkAttributeNames(each.type, attributes);
      // A group may be there before anything is known of it.
      if (Object.keys(attributes).length === 0 && each.type.name !== 'group') throw noAttributes(each);
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
      // Most have one object, for which there is nothing to yield above.
      yield;
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

function filled(snapshot: Snapshot, { type, existing, missing }: Resolved, given: Given): Given {
  if (type.name !== 'osimage')
    throw new Fault('invalid', `"fill" is for images only; leave it out for objects of type ${type.name}.`);
  checkAttributeNames(type, given);
  const [name = ''] = [...existing, ...missing];
  return { ...usualAttributes(installDirectory(effectiveReader(snapshot)), name, given), ...given };
}

/** A range whose brackets do not fit is, for scripts, a name that no object can have. */
function withNewNames<T>(names: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'invalid' || error.reference || !/[[\]]/.test(names)) throw error;
    throw new Fault('invalid', error.sentences, { reference: [...error.sentences, invalidName(names)] });
  }
}

function noAttributes({ type, existing, missing }: Resolved): Fault {
  const names = [...existing, ...missing].slice(0, 10).join(',');
  const isNode = type.name === 'node';
  return new Fault(
    'invalid',
    `No attributes were given for "${names}".${isNode ? ' A node needs at least groups, for example {"groups":"all"}.' : ''}`,
    {
      reference: [
        `No object definitions have been created or modified: no attributes were specified.${isNode ? " The 'groups' attribute is required when creating node definitions." : ''}`,
      ],
    },
  );
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
