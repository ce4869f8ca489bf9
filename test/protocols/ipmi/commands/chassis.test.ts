import { expect, test } from 'vitest';
import { Fault } from '../../../../src/core/errors.ts';
import { chassisControl, decodeChassisStatus, identify } from '../../../../src/protocols/ipmi/commands/chassis.ts';
import { bytes, patient, scriptedLink } from './script.ts';

test.each([
  ['000040', { power: false, restorePolicy: 'Always off', lastEvent: 'none', identify: 'off' }],
  ['211060', { power: true, restorePolicy: 'Last state', lastEvent: 'By Request', identify: 'on' }],
  ['410150', { power: true, restorePolicy: 'Always on', lastEvent: 'AC failed', identify: 'timed' }],
  ['600000', { power: false, restorePolicy: 'Unknown', identify: undefined }],
  ['1f1f0f', { overload: true, interlock: true, fault: true, controlFault: true }],
  ['00000f', { intrusion: true, lockout: true, driveFault: true, coolingFault: true }],
  ['000300', { lastEvent: 'AC failed, Power overload' }],
  ['00004000', { power: false, identify: 'off' }],
])('chassis status %s', (data, status) => {
  expect(decodeChassisStatus(bytes(data))).toMatchObject(status);
});

test.each([
  ['off', '00'],
  ['on', '01'],
  ['cycle', '02'],
  ['reset', '03'],
  ['nmi', '04'],
  ['softoff', '05'],
] as const)('%s is control %s, sent as operator and never repeated', async (action, code) => {
  const link = scriptedLink([{ request: `00 02 ${code}` }]);
  await chassisControl(link, action, patient);
  expect(link.sent[0]).toMatchObject({ privilege: 'operator', repeatable: false });
});

test('a refused control says what was refused and why', async () => {
  const link = scriptedLink([{ request: '00 02 04', code: 0xcc }]);
  await expect(chassisControl(link, 'nmi', patient)).rejects.toThrow(
    new Fault('invalid', 'its BMC refused the power action "nmi": a field of the request is invalid (code CCh).', {
      reference: ['Invalid data field in Request'],
    }),
  );
});

test('a busy BMC is asked again', async () => {
  const link = scriptedLink([
    { request: '00 02 01', code: 0xc0 },
    { request: '00 02 01', code: 0xc0 },
    { request: '00 02 01' },
  ]);
  await chassisControl(link, 'on', patient);
  expect(link.left()).toBe(0);
});

test.each([
  ['indefinite', '00 04 00 01'],
  [0, '00 04 00'],
  [255, '00 04 ff'],
] as const)('identify %s', async (duration, request) => {
  const link = scriptedLink([{ request }]);
  await identify(link, duration, patient);
  expect(link.left()).toBe(0);
});

test('a request that lacks privilege is sent with a higher one', async () => {
  const refused = { request: '00 02 01', code: 0xd4 };
  const link = scriptedLink([refused, { request: '00 02 01' }]);
  await chassisControl(link, 'on', patient);
  expect(link.sent.map(({ privilege }) => privilege)).toEqual(['operator', 'administrator']);
  await expect(chassisControl(scriptedLink([refused, refused]), 'on', patient)).rejects.toThrow(/lacks the privilege/);
});
