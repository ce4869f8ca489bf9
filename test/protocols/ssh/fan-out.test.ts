import { afterAll, beforeAll, expect, it } from 'vitest';
import { asTheyCome } from '../../../src/core/as-they-come.ts';
import { type SshLab, startSsh } from '../../lab/ssh.ts';
import { clientOf, run, targetOf } from './world.ts';

const count = 60;
let lab: SshLab;

beforeAll(async () => {
  lab = await startSsh({ count, prefix: '127.123', hanging: [7], refusing: [11] });
});
afterAll(() => lab?.stop());

it('runs a command on many nodes at once, and dead ones delay nobody', async () => {
  const client = clientOf(lab);
  const told: string[] = [];
  const work = async (index: number): Promise<string> => {
    try {
      const { stdout } = await run(client, targetOf(lab, index), 'echo $LAB_NAME', { connectTimeout: 20_000 });
      return stdout.trim();
    } catch (error) {
      return (error as Error).message;
    }
  };
  const indexes = Array.from({ length: count }, (_, index) => index);
  for await (const some of asTheyCome(indexes, count, work)) told.push(...some);
  expect(told.at(-1)).toContain('did not answer within 20 s');
  const fine = indexes.filter((index) => index !== 7 && index !== 11).map((index) => `t${index}`);
  expect(told.filter((one) => one.startsWith('t')).sort()).toEqual(fine.sort());
  expect(told.some((one) => one.includes('refused'))).toBe(true);
  await client.close();
});
