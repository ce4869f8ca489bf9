import { Type } from 'typebox';
import { attributeList, attributeLists } from '../objects/attribute-list.ts';
import { noSelection, query } from './command.ts';

/** It tells nothing of the cluster, so whoever is logged in may know it. */
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
