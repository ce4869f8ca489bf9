import { expect, test } from 'vitest';
import { chvm, clonevm, rmigrate, snapvm } from '../../src/commands/index.ts';

/** What policies judge and the audit log keeps. */
test('commands on virtual machines have argument lines as the reference system writes them', () => {
  const range = 'v1';
  const none = { range, add: [], purge: [], detach: [], resize: [] };
  expect(chvm.line({ ...none, memory: '2048', cpus: '2' })).toEqual(['--mem', '2048', '--cpus', '2']);
  expect(chvm.line({ ...none, add: ['10', '20'], purge: ['vdb'], resize: ['vda=20'], force: true })).toEqual([
    '-a',
    '10,20',
    '-p',
    'vdb',
    '--resize',
    'vda=20',
    '-f',
  ]);
  expect(chvm.line({ ...none, detach: ['vdb', 'vdc'] })).toEqual(['-d', 'vdb,vdc']);
  expect(clonevm.line({ range, tomaster: 'gold', force: true })).toEqual(['-t', 'gold', '-f']);
  expect(clonevm.line({ range, frommaster: 'gold', detach: true })).toEqual(['-b', 'gold', '-d']);
  expect(rmigrate.line({ range, target: 'hv2' })).toEqual(['hv2']);
  expect(snapvm.line({ range, action: 'revert', name: 'x' })).toEqual(['revert', 'x']);
  expect(snapvm.line({ range, action: 'list' })).toEqual(['list']);
});
