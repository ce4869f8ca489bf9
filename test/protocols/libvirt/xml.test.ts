import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LibvirtFault } from '../../../src/protocols/libvirt/faults.ts';
import { childElements, element, elementAt, readXml, textOf, writeXml } from '../../../src/protocols/libvirt/xml.ts';

/** What XML has room for, as one value. */
const text = fc
  .string({ unit: 'binary', maxLength: 40 })
  .map((value) => value.toWellFormed().replaceAll(/[^\t\n\r\P{Cc}]|[\ufffe\uffff]/gu, ''));

test('whatever a value is, it stays that value and adds nothing', () => {
  fc.assert(
    fc.property(text, text, (value, inside) => {
      const written = writeXml(element('domain', {}, element('source', { file: value }), element('name', {}, inside)));
      const read = readXml(written);
      expect(childElements(read).map(({ name }) => name)).toEqual(['source', 'name']);
      expect(elementAt(read, 'source')?.attributes).toEqual({ file: value });
      expect(elementAt(read, 'name')?.children).toEqual(inside === '' ? [] : [inside]);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["'/><x a='", `<d a='&apos;/&gt;&lt;x a=&apos;'/>`],
  [']]><!--', `<d a=']]&gt;&lt;!--'/>`],
  ['a\u0000b\nc\ud800', `<d a='ab&#10;c\ufffd'/>`],
])('%j as an attribute', (value, xml) => {
  expect(writeXml(element('d', { a: value }))).toBe(xml);
});

test('what is absent is left out, and names are ours', () => {
  expect(writeXml(element('a', { x: undefined }, undefined, [element('b'), [undefined, 'c']]))).toBe('<a><b/>c</a>');
  expect(() => writeXml(element("a><b x='"))).toThrow('is not a name in XML');
});

test('a definition is read with all that is in it, and written so that it reads the same', () => {
  const xml = `<?xml version='1.0'?>\n<!-- made by hand -->\n<domain type='kvm' xmlns:x="urn:x">
  <name>a &amp; b &#x41;</name><empty/><x:y z='"'/><![CDATA[<raw>]]></domain>\n`;
  const domain = readXml(xml);
  expect(domain.attributes).toEqual({ type: 'kvm', 'xmlns:x': 'urn:x' });
  expect(textOf(elementAt(domain, 'name'))).toBe('a & b A');
  expect(elementAt(domain, 'x:y')?.attributes).toEqual({ z: '"' });
  expect(textOf(domain)).toBe('<raw>');
  expect(readXml(writeXml(domain))).toEqual({ ...domain, children: expect.any(Array) });
  expect(elementAt(domain, 'name', 'nothing', 'here')).toBeUndefined();
});

test.each([
  ['nothing', ''],
  ['no element', 'text'],
  ['two elements', '<a/><b/>'],
  ['one that does not end', '<a><b></b>'],
  ['one that ends as another', '<a></b>'],
  ['an end too many', '<a/></a>'],
  ['a document type', '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'],
  ['an entity', '<a>&x;</a>'],
  ['an open entity', '<a>&amp</a>'],
  ['a number that is no sign', '<a>&#x110000;</a>'],
  ['an attribute without quotes', '<a b=c/>'],
  ['deep nesting', '<a>'.repeat(100_000)],
])('%s is no XML of libvirt', (_name, xml) => {
  expect(() => readXml(xml)).toThrow(LibvirtFault);
});

test('anything at all is read or refused', () => {
  const pieces = fc.array(
    fc.constantFrom(
      '<',
      '>',
      '/',
      'a',
      ' ',
      '=',
      "'",
      '"',
      '&',
      ';',
      '#',
      'x',
      '!--',
      '--',
      '![CDATA[',
      ']]',
      '?',
      '\n',
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(pieces, (list) => {
      try {
        readXml(list.join(''));
      } catch (error) {
        expect(error).toBeInstanceOf(LibvirtFault);
      }
    }),
    { numRuns: 5_000 },
  );
});
