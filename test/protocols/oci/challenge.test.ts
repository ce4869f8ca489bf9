import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseChallenge } from '../../../src/protocols/oci/authorizer.ts';

const read = (header: string | string[] | undefined) => {
  const found = parseChallenge(header);
  return found && [found.scheme, Object.fromEntries(found.parameters)];
};

describe('what a registry wants', () => {
  it.each([
    ['Basic realm="lab"', ['basic', { realm: 'lab' }]],
    [
      'Bearer realm="https://a.example/token",service="lab",scope="repository:a/b:pull,push"',
      ['bearer', { realm: 'https://a.example/token', service: 'lab', scope: 'repository:a/b:pull,push' }],
    ],
    [
      'bearer realm = unquoted , service="with \\"quotes\\""',
      ['bearer', { realm: 'unquoted', service: 'with "quotes"' }],
    ],
    ['Basic realm="a", Bearer realm="b"', ['bearer', { realm: 'b' }]],
    ['Negotiate, Basic realm="x"', ['basic', { realm: 'x' }]],
    [
      ['Negotiate', 'Basic realm="x"'],
      ['basic', { realm: 'x' }],
    ],
    ['Negotiate', undefined],
    ['', undefined],
    [undefined, undefined],
    [`Bearer realm="${'x'.repeat(10_000)}"`, undefined],
  ])('is read from %j', (header, expected) => {
    expect(read(header)).toEqual(expected);
  });

  it('is read from any text without failing', () => {
    const pieces = fc.constantFrom('Bearer', 'Basic', ' ', ',', '=', '"', '\\', 'realm', 'https://x', '\t');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(pieces).map((each) => each.join('')),
        ),
        (text) => {
          const found = parseChallenge(text);
          expect(found === undefined || found.scheme === 'basic' || found.scheme === 'bearer').toBe(true);
        },
      ),
      { seed: 12, numRuns: 2_000 },
    );
  });
});
