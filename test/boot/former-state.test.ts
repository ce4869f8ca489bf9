import { afterEach, beforeEach, expect, it } from 'vitest';
import { rowsOfState, type StateRows, undoState } from '../../src/boot/former-state.ts';
import { Fault } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log.ts';
import { Questions } from '../../src/database/questions.ts';
import { DaemonServers } from '../../src/names/daemon-servers.ts';
import { DhcpElsewhere } from '../../src/names/dhcp/node-dhcp.ts';
import { memoryStore, silent, testOrigin, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
let questions: Questions;
let nodeDhcp: DhcpElsewhere;
let before: StateRows;
let isAway = false;

beforeEach(async () => {
  isAway = false;
  cluster = await memoryStore({
    around: (database) => ({
      ...silent(database),
      write: (batch) =>
        isAway ? Promise.reject(new Fault('unavailable', 'The database is away.')) : database.write(batch),
    }),
  });
  const { store, box } = cluster;
  const servers = { id: 'mn2', name: 'mn2', isAlive: () => Promise.resolve(true), list: () => Promise.resolve([]) };
  questions = new Questions({ shared: store.database.shared, servers, seal: box, log: createLog('silent') });
  // The server with DHCP is not connected.
  nodeDhcp = new DhcpElsewhere(
    new DaemonServers({ names: undefined, dhcp: 'mn1' }, { store, servers, questions }),
    store,
  );
  await cluster.put(['nodelist', { node: 'n1', groups: 'all' }], ['chain', { node: 'n1', currstate: 'boot' }]);
  before = rowsOfState(cluster.current, 'n1');
});
afterEach(async () => {
  await questions.close();
  await cluster.close();
});

const setState = () => cluster.put(['chain', { node: 'n1', currstate: 'shell' }]);
const reserve = () =>
  cluster.put(['dhcphost', { node: 'n1', mac: '52:54:00:00:00:01', ip: '10.0.0.1', hostname: 'n1' }]);
const undo = (set = cluster.current) =>
  undoState({ store: cluster.store, nodeDhcp }, { node: 'n1', before, set }, testOrigin);

it('a reservation that cannot be removed now is named, and the state is put back', async () => {
  await setState();
  const set = cluster.current;
  await reserve();
  const [state, ...others] = await undo(set);
  expect(state).toBe('It is set to boot, as before.');
  expect(others.join(' ')).toMatch(
    /^Its new DHCP reservation could not be removed: Server mn1, .* is not connected.* DELETE \/nodes\/n1\/dhcp removes the reservation\.$/,
  );
  expect(rowsOfState(cluster.current, 'n1')).toEqual(before);
});

it('a reservation of before stays', async () => {
  await reserve();
  await setState();
  expect(await undo()).toEqual(['It is set to boot, as before.']);
  expect(cluster.rows('dhcphost')).toHaveLength(1);
});

it('a state that cannot be put back is named', async () => {
  await setState();
  isAway = true;
  expect(await undo()).toEqual([
    'Its boot state could not be put back to what it was before:',
    'The database is away.',
    'GET /nodes/n1/bootstate shows what it is set to.',
  ]);
});
