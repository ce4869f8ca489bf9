import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ config: '[xcatws]\nerrors = "reference"\n' });
  await server.ok('POST', '/nodes/n1', { groups: 'all' });
  await server.ok('POST', '/networks/net1', { net: '10.1.0.0', mask: '255.255.0.0' });
  await server.ok('PUT', '/groups/dyn', { grouptype: 'dynamic', wherevals: 'mgt==ipmi' });
});
afterAll(() => server.stop());

const unknownReason = 'Failed with unknown reason.';
const oneOrMore = 'One or more errors occured when attempting to create or modify xCAT object definitions.';

it.each([
  // What the web service says by itself: a text, and a code that is one.
  ['GET', '/nothing', undefined, 404, 'Unsupported resource.', '2'],
  [
    'PATCH',
    '/nodes/n1?pretty=0',
    undefined,
    405,
    "request method 'PATCH' is not supported on resource '/nodes/n1'",
    '2',
  ],
  ['PUT', '/nodes/n1/power', {}, 404, 'Missed Action.', '2'],
  ['POST', '/osimages', {}, 404, 'Invalid source.', '2'],
  ['POST', '/osimages/i/instance', { action: 'bake' }, 400, 'Incorrect action:bake.', '2'],
  ['POST', '/nodes/n1/nodeshell', {}, 400, 'Lack of operation data.', 3],
  ['PUT', '/nodes/n1', '[]', 400, 'put or post data must be a json object (hash/dict).', '2'],
  // What its daemon says: a list.
  ['GET', '/nodes/zz', undefined, 403, ["Could not find an object named 'zz' of type 'node'."], '1'],
  ['GET', '/groups/zz', undefined, 403, ["Could not find an object named 'zz' of type 'group'."], '1'],
  ['GET', '/osimages/zz', undefined, 403, ["Could not find an object named 'zz' of type 'osimage'."], '1'],
  [
    'DELETE',
    '/networks/zz',
    undefined,
    403,
    ["Could not find an object named 'zz' of type 'network'.", unknownReason],
    '1',
  ],
  [
    'GET',
    '/nodes/n1/attrs/bogus',
    undefined,
    403,
    ["'bogus' is not a valid attribute name for an object type of 'node'."],
    '1',
  ],
  ['GET', '/nodes/n1,zz/power', undefined, 403, ['Invalid nodes and/or groups in noderange: zz'], '1'],
  ['GET', '/tables/nosuch/rows', undefined, 403, ['No such table: nosuch'], '1'],
  ['GET', '/tables/nodetype/rows/node=zz', undefined, 403, ['No table rows matched specified keys or attributes'], '1'],
  ['POST', '/nodes/n1', { groups: 'all' }, 403, ['0 object definitions have been created or modified.'], '1'],
  [
    'POST',
    '/nodes/n2',
    { mgt: 'ipmi' },
    403,
    ["Attribute 'groups' is not specified for node 'n2', skipping to the next node.", oneOrMore, unknownReason],
    '1',
  ],
  [
    'PUT',
    '/nodes/n2',
    { os: 'x' },
    403,
    ["Attribute 'groups' is not specified for node 'n2', skipping to the next node.", unknownReason],
    '1',
  ],
  [
    'POST',
    '/nodes/n3',
    { groups: 'all', bmc: '10.0.0.2' },
    403,
    ["Cannot set the attr='bmc' attribute unless mgt value is ipmi or openbmc.", oneOrMore, unknownReason],
    '1',
  ],
  [
    'POST',
    '/networks/net2',
    { net: '10.2.0.0' },
    403,
    ["Net or mask value should not be empty for xCAT network object 'net2'.", oneOrMore, unknownReason],
    '1',
  ],
  [
    'PUT',
    '/groups/dyn',
    { os: 'x' },
    403,
    ["Can not assign attributes to dynamic node group 'dyn'.", oneOrMore, unknownReason],
    '1',
  ],
])('%s %s is refused with the words of the reference system', async (method, path, body, status, error, errorcode) => {
  const reply = await server.call(method, path, { root: '/xcatws', ...(body === undefined ? {} : { body }) });
  expect([reply.status, reply.json]).toEqual([status, { error, errorcode }]);
});

it('who is not known or not allowed hears the same', async () => {
  await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=guest', { password: 'guest-guest' });
  const query = { userName: 'guest', userPW: 'guest-guest' };
  const denied = await server.call('GET', '/nodes', { root: '/xcatws', token: null, query });
  const unknown = await server.call('GET', '/nodes', { root: '/xcatws', token: null });
  for (const reply of [denied, unknown])
    expect([reply.status, reply.json]).toEqual([401, { error: 'Authentication failure', errorcode: '2' }]);
});

it('/muster answers as ever', async () => {
  expect((await server.call('GET', '/nodes/zz')).json).toEqual({
    error: ['There is no node named "zz".'],
    errorcode: 1,
  });
});
