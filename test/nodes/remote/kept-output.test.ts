import { expect, it } from 'vitest';
import { CollectedOutput } from '../../../src/protocols/ssh/collected.ts';
import { KeptOutput } from '../../../src/nodes/remote/remote.ts';

it('keeps no more for one user than the limit, over all commands whose replies are not sent', () => {
  const kept = new KeptOutput(10);
  const [first, second] = [new AbortController(), new AbortController()];
  const one = kept.until(first.signal, 'alice');
  const two = kept.until(second.signal, 'alice');
  expect([one.take(6), two.take(6), one.take(1)]).toEqual([6, 4, 0]);
  expect(kept.until(new AbortController().signal, 'bob').take(10)).toBe(10);
  first.abort();
  expect([one.take(1), two.take(9)]).toEqual([0, 6]);
  second.abort();
  expect(kept.until(new AbortController().signal, 'alice').take(11)).toBe(10);
});

it('says where output was cut because there was no more room, and shows nothing from behind the gap', () => {
  const room = new KeptOutput(5).until(new AbortController().signal, 'alice');
  const output = new CollectedOutput(100, room);
  output.stdout(Buffer.from('abcdefg'));
  output.stderr(Buffer.from('hi'));
  expect([output.text('stdout'), output.text('stderr'), output.lost]).toEqual(['abcde', '', 4]);
  expect(output.note).toBe('The output was cut after 5 bytes; 4 more are not shown.');
});
