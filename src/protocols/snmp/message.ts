import { BerReader, decodeOid, encode, encodeInteger, encodeOid, type Oid, tags } from './ber.ts';

/** A value and its name. */
export interface Binding {
  readonly oid: readonly number[];
  readonly tag: number;
  readonly content: Buffer;
}

export interface Response {
  readonly id: number;
  /** 0: all is well. */
  readonly error: number;
  readonly bindings: readonly Binding[];
}

const version2c = 1;

/** Asks for so many values as come after the name. */
export const encodeGetBulk = (community: string, id: number, after: Oid, count: number): Buffer =>
  encode(
    tags.sequence,
    encodeInteger(version2c),
    encode(tags.octets, Buffer.from(community)),
    encode(
      tags.getBulk,
      encodeInteger(id),
      encodeInteger(0),
      encodeInteger(count),
      encode(tags.sequence, encode(tags.sequence, encodeOid(after), encode(tags.nothing))),
    ),
  );

export function decodeResponse(bytes: Buffer): Response {
  const message = new BerReader(bytes).inside(tags.sequence);
  message.integer();
  message.expect(tags.octets);
  const body = message.inside(tags.response);
  const id = body.integer();
  const error = body.integer();
  body.integer();
  const list = body.inside(tags.sequence);
  const bindings: Binding[] = [];
  while (!list.isAtEnd) {
    const binding = list.inside(tags.sequence);
    bindings.push({ oid: decodeOid(binding.expect(tags.oid)), ...binding.next() });
  }
  return { id, error, bindings };
}
