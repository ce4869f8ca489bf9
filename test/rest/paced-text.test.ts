import { expect, it } from 'vitest';
import { Snapshot } from '../../src/database/snapshot.ts';
import { NodeCatalog } from '../../src/objects/catalog.ts';
import { bodyOf, bodyText, PacedText, slice } from '../../src/rest/http/body-writer.ts';

const usual = {
  userName: undefined,
  userPW: undefined,
  debug: false,
  xcoll: false,
  lists: false,
  dryRun: false,
  blankAfterName: true,
};

const spend = (milliseconds: number): void => {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
};

it('lets others work after every large piece that took long, not only after many', async () => {
  const body = new PacedText();
  const large = 'x'.repeat(100_000);
  for (let piece = 0; piece < 3; piece++) {
    spend(slice + 1);
    const pause = body.add(large);
    expect(pause).toBeInstanceOf(Promise);
    await pause;
  }
  expect(bodyText(body.end('.'))).toBe(`${large.repeat(3)}.`);
});

it.each([0, 1, 1_000, 1_001, 2_500])(
  'writes a list of %i as JSON writes it, in one line or indented',
  async (count) => {
    const items = Array.from({ length: count }, (_, i) => `"n${i}",`);
    for (const pretty of [false, true]) {
      const common = { ...usual, pretty };
      const body = await bodyOf({ shape: 'list', items }, Snapshot.empty, new NodeCatalog(), common);
      expect(bodyText(body)).toBe(`${JSON.stringify(items, null, pretty ? 3 : 0)}\n`);
    }
  },
);
