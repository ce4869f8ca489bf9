import { expect, it } from 'vitest';
import { eventsIn } from '../../../src/drivers/redfish/events.ts';

it('what a BMC says of a medium does not open it', () => {
  const image = 'https://10.0.0.1/boot/media/Zm9vYmFyYmF6Zm9vYmFyYmF6/boot.iso';
  const event = { Message: 'Image %1 was inserted (%1).', MessageArgs: [image], Severity: 'OK' };
  expect(eventsIn(Buffer.from(JSON.stringify({ Events: [event] })))).toEqual([
    {
      message:
        'Image https://10.0.0.1/boot/media/.../boot.iso was inserted (https://10.0.0.1/boot/media/.../boot.iso).',
      severity: 'ok',
    },
  ]);
});
