import { afterEach, expect, test, vi } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { GoAheads } from '../../src/worker/go-aheads.ts';

afterEach(() => vi.restoreAllMocks());

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function asking() {
  const asked: (readonly string[])[] = [];
  const goAheads = new GoAheads((question, nodes) => (asked[question] = nodes));
  const begun: string[] = [];
  const begin = (node: string): Promise<unknown> =>
    goAheads.get(node).then(
      () => begun.push(node),
      (error: unknown) => begun.push(`${node}: ${(error as Fault).message}`),
    );
  return { asked, goAheads, begun, begin };
}

test('one question for all nodes of a turn, and nothing begins without its answer', async () => {
  const { asked, goAheads, begun, begin } = asking();
  void begin('n1');
  void begin('n2');
  await turn();
  void begin('n3');
  await turn();
  expect([asked, begun]).toEqual([[['n1', 'n2'], ['n3']], []]);
  goAheads.answered(0);
  await turn();
  expect(begun).toEqual(['n1', 'n2']);
});

test('an answer that comes late does not count, and the question is asked again', async () => {
  const { asked, goAheads, begun, begin } = asking();
  void begin('n1');
  await turn();
  const late = performance.now() + 5_001;
  vi.spyOn(performance, 'now').mockReturnValue(late);
  goAheads.answered(0);
  await turn();
  expect([asked, begun]).toEqual([[['n1'], ['n1']], []]);
  goAheads.answered(1);
  await turn();
  expect(begun).toEqual(['n1']);
});

test('without the server nothing begins any more', async () => {
  const { goAheads, begun, begin } = asking();
  void begin('n1');
  await turn();
  goAheads.close(new Fault('unavailable', 'the server is gone.'));
  await begin('n2');
  goAheads.answered(0);
  await turn();
  expect(begun).toEqual(['n1: the server is gone.', 'n2: the server is gone.']);
});
