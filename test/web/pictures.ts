import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Page } from 'playwright-core';

const kept = join(import.meta.dirname, '../data/pictures');
/** Pixels of a square whose mean color is compared. */
const square = 16;
/** How far the mean of a color may be from the kept one, of 255. */
const tolerance = 12;

/** Runs in an empty page. In a program of its own, pictures would need a library to read them. */
const compare = `async ([seen, known, square, tolerance]) => {
  const means = async (data) => {
    const bitmap = await createImageBitmap(await (await fetch('data:image/png;base64,' + data)).blob());
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext('2d', { willReadFrequently: true });
    context.drawImage(bitmap, 0, 0);
    const found = [];
    for (let y = 0; y + square <= bitmap.height; y += square)
      for (let x = 0; x + square <= bitmap.width; x += square) {
        const { data: pixels } = context.getImageData(x, y, square, square);
        const sums = [0, 0, 0];
        for (let i = 0; i < pixels.length; i += 4) for (const c of [0, 1, 2]) sums[c] += pixels[i + c];
        found.push(sums.map((sum) => (sum * 4) / pixels.length));
      }
    return { size: bitmap.width + 'x' + bitmap.height, found };
  };
  const [a, b] = [await means(seen), await means(known)];
  if (a.size !== b.size) return 1;
  const other = a.found.filter((mean, i) => mean.some((value, c) => Math.abs(value - b.found[i][c]) > tolerance));
  return other.length / a.found.length;
}`;

/** Which part of the page looks other than in the kept picture, from 0 to 1; with MUSTER_PICTURES=write the picture is kept instead. */
export async function otherThanKept(page: Page, name: string): Promise<number> {
  const file = join(kept, `${name}.png`);
  const seen = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  if (process.env['MUSTER_PICTURES'] === 'write') {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, seen);
    return 0;
  }
  const blank = await page.context().newPage();
  try {
    const known = readFileSync(file).toString('base64');
    const call = `(${compare})(${JSON.stringify([seen.toString('base64'), known, square, tolerance])})`;
    const part = await blank.evaluate<number>(call);
    // What was seen lies beside what was to be seen, for whoever looks why.
    if (part > 0 && process.env['MUSTER_PICTURES_SEEN'])
      writeFileSync(join(process.env['MUSTER_PICTURES_SEEN'], `${name}.png`), seen);
    return part;
  } finally {
    await blank.close();
  }
}
