import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { Fault } from '../../core/errors.ts';
import type { PduKind } from './kinds.ts';

const Name = Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,40}$' });
const Oid = Type.String({ pattern: '^1(\\.(0|[1-9][0-9]{0,9})){3,60}$' });
const Numbers = Type.Array(Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 }), {
  minItems: 1,
  maxItems: 20,
});
const closed = { additionalProperties: false } as const;
const Measured = Type.Object(
  {
    oid: Oid,
    unit: Type.Number({ exclusiveMinimum: 0 }),
    behind: Type.Optional(Type.String({ pattern: '^\\d{1,9}(\\.\\d{1,9}){0,5}$' })),
    digits: Type.Optional(Oid),
  },
  closed,
);
const Command = Type.Object({ oid: Oid, value: Type.Integer() }, closed);
const Kinds = Type.Array(
  Type.Object(
    {
      name: Name,
      objects: Type.Array(Oid),
      outlets: Type.Object(
        {
          state: Type.Object({ oid: Oid, on: Numbers, off: Numbers }, closed),
          on: Type.Optional(Command),
          off: Type.Optional(Command),
          from: Type.Optional(Type.Integer({ minimum: 0 })),
          name: Type.Optional(Oid),
          label: Type.Optional(Oid),
          watts: Type.Optional(Measured),
          amps: Type.Optional(Measured),
          wattHours: Type.Optional(Measured),
        },
        closed,
      ),
      total: Type.Optional(Type.Object({ watts: Type.Optional(Measured), wattHours: Type.Optional(Measured) }, closed)),
      inventory: Type.Object(
        Object.fromEntries(
          ['model', 'serial', 'firmware', 'name', 'type', 'part'].map((what) => [what, Type.Optional(Oid)]),
        ),
        closed,
      ),
    },
    closed,
  ),
);

/** Kinds of PDUs that the site describes, in the form of those that muster has. */
export function ownKinds(text: string, file: string): readonly PduKind[] {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new Fault('invalid', `hardware.pduKinds: ${file} is not JSON.`, { cause: error });
  }
  if (Value.Check(Kinds, found)) return found;
  const [first] = Value.Errors(Kinds, found);
  throw new Fault(
    'invalid',
    `hardware.pduKinds: ${file} is wrong at ${first?.instancePath || 'its beginning'}: ${first?.message}.`,
  );
}
