import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { parseReference } from '../../../src/protocols/oci/reference.ts';

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

describe('the name of a container image', () => {
  it.each([
    ['reg.example/deb:12', { registry: 'reg.example', name: 'deb', selector: '12', digest: undefined }],
    [
      'reg.example:5000/a/b_c/d-e.f',
      { registry: 'reg.example:5000', name: 'a/b_c/d-e.f', selector: 'latest', digest: undefined },
    ],
    [`reg.example/deb@${digest}`, { registry: 'reg.example', name: 'deb', selector: digest, digest }],
    [`Reg.Example/deb:12@${digest}`, { registry: 'reg.example', name: 'deb', selector: digest, digest }],
    ['localhost/x:y', { registry: 'localhost', name: 'x', selector: 'y', digest: undefined }],
    ['127.0.0.1:5000/x', { registry: '127.0.0.1:5000', name: 'x', selector: 'latest', digest: undefined }],
    ['[fd00::1]:5000/x', { registry: '[fd00::1]:5000', name: 'x', selector: 'latest', digest: undefined }],
  ])('has a registry, a repository and a tag or a digest: %s', (text, expected) => {
    expect(parseReference(text)).toEqual(expected);
  });

  it.each([
    '',
    'debian',
    'library/debian:12',
    'reg.example',
    'reg.example/',
    'reg.example/Deb',
    'reg.example/deb:',
    'reg.example/deb:12:13',
    'reg.example/deb:a/b',
    'reg.example/../deb',
    'reg.example/a//b',
    'reg.example/a__-b',
    'reg.example:0/a',
    'reg.example:70000/a',
    'http://reg.example/a',
    'user@reg.example/a',
    'reg.example/a?x=y',
    'reg.example/a#b',
    'reg_example.com/a',
    `reg.example/a@${digest}@${digest}`,
    'reg.example/a@sha256:../../etc/passwd',
    `reg.example/a@${digest.toUpperCase()}`,
    `reg.example/a@sha512:${'0'.repeat(128)}`,
    `reg.example/${'a'.repeat(300)}`,
    `${'a.'.repeat(600)}b/c`,
  ])('is refused: %s', (text) => {
    expect(() => parseReference(text)).toThrow(Fault);
  });

  it('is understood as itself or refused, whatever it is', () => {
    const pieces = fc.constantFrom(
      'reg.example',
      ':',
      '5000',
      '/',
      'a',
      '-',
      '_',
      '.',
      '@',
      digest,
      'A',
      ' ',
      '\n',
      '%2e',
      '[',
      ']',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(pieces, { maxLength: 12 }).map((each) => each.join('')),
        ),
        (text) => {
          try {
            const { registry, name, selector } = parseReference(text);
            // All of it goes into a URL, which must have exactly these parts.
            const url = new URL(`https://${registry}/v2/${name}/manifests/${selector}`);
            expect(url.pathname).toBe(`/v2/${name}/manifests/${selector}`);
            expect(url.search + url.hash + url.username).toBe('');
          } catch (error) {
            expect(error).toBeInstanceOf(Fault);
          }
        },
      ),
      { seed: 12, numRuns: 3_000 },
    );
  });
});
