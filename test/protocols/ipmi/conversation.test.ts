import { beforeEach, describe, expect, test } from 'vitest';
import { Fault, Unreachable } from '../../../src/core/errors.ts';
import { answerPacket } from '../../lab/light-bmc/bmc.ts';
import { chassisStatus, faultOf, kindOf, powerOn, responseOf, World } from './world.ts';

let world: World;

beforeEach(() => {
  world = new World();
});

/** Loses these packets, counted by kind from 1: `rakp1#2`. */
function losing(...lost: string[]): (packet: Buffer) => readonly number[] {
  const counts = new Map<string, number>();
  return (packet) => {
    const kind = kindOf(packet);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return lost.includes(`${kind}#${counts.get(kind)}`) ? [] : [1];
  };
}

describe('a cold request', () => {
  test('takes four packets there and four back, and the session stays', async () => {
    const request = world.request();
    await world.run(20);
    expect(responseOf(request)).toMatchObject({ code: 0 });
    expect(world.kinds).toEqual(['open', 'rakp1', 'rakp3', 'sealed']);
    expect(world.claimed.size).toBe(1);
  });

  test('is followed by warm ones of one packet', async () => {
    world.request();
    await world.run(20);
    const more = [world.request(), world.request()];
    await world.run(20);
    expect(more.map(responseOf)).toHaveLength(2);
    expect(world.kinds.slice(4)).toEqual(['sealed', 'sealed']);
  });

  test('has at most one packet outstanding', async () => {
    const requests = [world.request(), world.request(), world.request()];
    expect(world.sent).toHaveLength(1);
    await world.run(100);
    expect(requests.map((one) => responseOf(one).code)).toEqual([0, 0, 0]);
  });

  test('uses suite 3 when 17 is refused, and remembers it', async () => {
    const suites: number[] = [];
    world.answer = (packet) => {
      if (kindOf(packet) === 'open') suites.push(packet[28]!);
      const reply = answerPacket(world.bmc, packet);
      if (kindOf(packet) === 'open' && packet[28] === 3) {
        const refusal = Buffer.from(reply!.subarray(0, 24));
        refusal[17] = 0x11;
        refusal.writeUInt16LE(8, 14);
        return refusal;
      }
      return reply;
    };
    const request = world.request();
    await world.run(20);
    expect(responseOf(request).code).toBe(0);
    expect(suites).toEqual([3, 1]);
    expect(world.habits.suite).toBe(3);
  });

  test('does not use suite 3 when the policy allows 17 alone', async () => {
    world = new World({ suites: [17] });
    world.answer = (packet) => {
      const reply = Buffer.from(answerPacket(world.bmc, packet)!.subarray(0, 24));
      reply[17] = 0x11;
      reply.writeUInt16LE(8, 14);
      return reply;
    };
    const request = world.request();
    await world.run(20);
    expect(faultOf(request).message).toBe(
      'its service processor at 192.0.2.1 accepts not IPMI cipher suite 17 (11h).',
    );
    expect(world.kinds).toEqual(['open']);
  });

  test('refuses a BMC that answers with weaker algorithms than asked for', async () => {
    world.answer = (packet) => {
      const reply = answerPacket(world.bmc, packet)!;
      if (kindOf(packet) === 'open') for (const at of [32, 40, 48]) reply[at] = 0;
      return reply;
    };
    const request = world.request();
    await world.run(20);
    expect(faultOf(request).message).toContain('accepts none of the IPMI cipher suites 17, 3');
    expect(world.kinds).toEqual(['open', 'open']);
  });
});

describe('lost, doubled and late packets', () => {
  test.each(['open#1', 'opened#1', 'rakp1#1', 'rakp2#1', 'rakp3#1', 'rakp4#1', 'sealed#1'])(
    'the loss of %s costs one retry',
    async (lost) => {
      world.out = losing(lost);
      world.back = losing(lost);
      const request = world.request();
      await world.run(490);
      expect(request.outcome).toBeUndefined();
      await world.run(150);
      expect(responseOf(request).code).toBe(0);
      expect(world.sent).toHaveLength(5);
    },
  );

  test('every packet doubled changes nothing', async () => {
    world.out = () => [1, 2];
    world.back = () => [1, 3];
    const requests = [world.request(), world.request(), world.request()];
    await world.run(200);
    expect(requests.map((one) => responseOf(one).code)).toEqual([0, 0, 0]);
    expect(world.kinds).toEqual(['open', 'rakp1', 'rakp3', 'sealed', 'sealed', 'sealed']);
  });

  test('a retry in a session keeps the number of the request and takes a new one for the packet', async () => {
    world.request();
    await world.run(20);
    const seen: Buffer[] = [];
    world.answer = (packet) => {
      seen.push(packet);
      return seen.length < 2 ? undefined : answerPacket(world.bmc, packet);
    };
    const request = world.request();
    await world.run(700);
    expect(responseOf(request).code).toBe(0);
    const [first, second] = seen as [Buffer, Buffer];
    expect(second.readUInt32LE(10)).toBe(first.readUInt32LE(10) + 1);
    expect(second.subarray(16)).not.toEqual(first.subarray(16));
  });

  test('retries come later each time', async () => {
    world.out = () => [];
    world.request();
    await world.run(6_000);
    expect(world.sent.map(({ at }) => at)).toEqual([0, 500, 1_500, 3_500]);
  });

  test('a BMC that answers after 3 s is talked to within a longer deadline, without doubled RAKP packets', async () => {
    world = new World({}, { deadline: 20_000 });
    world.back = () => [3_000];
    const request = world.request();
    await world.run(13_000);
    expect(responseOf(request).code).toBe(0);
    expect(world.kinds.filter((kind) => kind !== 'open')).toEqual(['rakp1', 'rakp3', 'sealed']);
  });

  test('a late refusal of an earlier open request does not end the newer one', async () => {
    let opens = 0;
    world.answer = (packet) => {
      const reply = answerPacket(world.bmc, packet);
      if (kindOf(packet) !== 'open' || ++opens > 1) return reply;
      const refusal = Buffer.from(reply!.subarray(0, 24));
      refusal[17] = 0x01;
      refusal.writeUInt16LE(8, 14);
      return refusal;
    };
    // The refusal comes between the second request and its answer.
    world.back = (packet, count) => (count === 1 ? [598] : kindOf(packet) === 'opened' ? [200] : [1]);
    const request = world.request();
    await world.run(1_000);
    expect(responseOf(request).code).toBe(0);
    expect(opens).toBe(2);
  });

  test('a late answer to an earlier open request is taken, and the answer to the newer one then ignored', async () => {
    world.back = (packet) => (kindOf(packet) === 'opened' ? [700] : [1]);
    const request = world.request();
    await world.run(2_000);
    expect(responseOf(request).code).toBe(0);
    expect(world.kinds).toEqual(['open', 'open', 'rakp1', 'rakp3', 'sealed']);
  });

  test('an answer that comes after its request was given up is not taken for the answer to the next', async () => {
    world.request();
    await world.run(20);
    const controller = new AbortController();
    world.back = () => [300];
    const abandoned = world.request({ netfn: 6, command: 1 }, controller.signal);
    await world.run(10);
    controller.abort(new Fault('invalid', 'The run was cancelled.'));
    const next = world.request();
    await world.run(295);
    expect(faultOf(abandoned).message).toBe('The run was cancelled.');
    expect(next.outcome).toBeUndefined();
    await world.run(100);
    expect(responseOf(next).data).toHaveLength(3);
  });

  test('a RAKP exchange that stays without answer begins again with a new session', async () => {
    world.out = losing('rakp3#1', 'rakp3#2');
    const request = world.request();
    await world.run(3_000);
    expect(responseOf(request).code).toBe(0);
    expect(world.kinds).toEqual(['open', 'rakp1', 'rakp3', 'rakp3', 'open', 'rakp1', 'rakp3', 'sealed']);
  });

  test.each([0.05, 0.2])('with a loss of %d all requests are answered', async (share) => {
    let state = 12345;
    const route = (): readonly number[] => {
      state = (state * 1103515245 + 12345) & 0x7fffffff;
      return state / 0x7fffffff < share ? [] : [1];
    };
    world = new World({}, { deadline: 15_000 });
    world.out = route;
    world.back = route;
    const requests = Array.from({ length: 50 }, () => world.request());
    await world.run(200_000);
    expect(requests.filter((one) => one.outcome && 'response' in one.outcome)).toHaveLength(50);
  });
});

describe('a BMC that does not answer', () => {
  test('costs one deadline, however many requests wait', async () => {
    world.out = () => [];
    const requests = [world.request(), world.request(), world.request()];
    await world.run(4_990);
    expect(requests.every((one) => one.outcome === undefined)).toBe(true);
    await world.run(20);
    for (const one of requests) {
      expect(faultOf(one)).toBeInstanceOf(Unreachable);
      expect(faultOf(one).message).toBe('its service processor at 192.0.2.1 did not answer within 5 s.');
    }
    expect(world.claimed.size).toBe(0);
    expect(world.retired).toBe(1);
  });

  test('is told from one that answers nonsense', async () => {
    world.out = () => [];
    world.noise = true;
    const request = world.request();
    await world.run(5_010);
    expect(faultOf(request)).toMatchObject({ kind: 'garbled' });
  });

  test('is known at once when nothing can be sent to it', async () => {
    const request = world.request();
    world.conversation.unreachable(Object.assign(new Error('no way'), { code: 'ENETUNREACH' }));
    await world.run(1);
    expect(faultOf(request).message).toBe('its service processor at 192.0.2.1 cannot be reached (ENETUNREACH).');
  });
});

describe('a lost session', () => {
  test('is replaced by a new one for a request that may be repeated', async () => {
    world.request();
    await world.run(20);
    world.bmc.sessions.clear();
    const request = world.request();
    await world.run(2_000);
    expect(responseOf(request).code).toBe(0);
    expect(world.kinds.slice(4)).toEqual(['sealed', 'sealed', 'sealed', 'open', 'rakp1', 'rakp3', 'sealed']);
  });

  test('is replaced once only', async () => {
    world.request();
    await world.run(20);
    world.answer = (packet) => (kindOf(packet) === 'sealed' ? undefined : answerPacket(world.bmc, packet));
    const request = world.request();
    await world.run(5_100);
    expect(faultOf(request)).toMatchObject({ kind: 'deadline' });
    expect(world.kinds.filter((kind) => kind === 'open')).toHaveLength(2);
  });

  test('gets a command that must not be repeated only after a sign of life', async () => {
    world.request(powerOn);
    await world.run(20);
    world.bmc.sessions.clear();
    await world.run(10_000);
    const request = world.request(powerOn);
    await world.run(3_000);
    expect(responseOf(request).code).toBe(0);
    expect(world.bmc.controls).toEqual([1, 1]);
  });
});

describe('a command that must not be repeated', () => {
  test('is sent once, and silence says that its fate is unknown', async () => {
    world.request();
    await world.run(20);
    world.back = (packet) => (kindOf(packet) === 'sealed' && world.bmc.controls.length > 0 ? [] : [1]);
    const request = world.request(powerOn);
    await world.run(5_100);
    expect(faultOf(request)).toMatchObject({ kind: 'deadline' });
    expect(faultOf(request).message).toContain('unknown whether it carried the command out');
    expect(world.bmc.controls).toEqual([1]);
  });

  test('is not repeated when the BMC is busy', async () => {
    world.bmc.power = true;
    const codes = [0xc0];
    const request = withCodes(codes, { ...chassisStatus, repeatable: false });
    await world.run(3_000);
    expect(responseOf(request).code).toBe(0xc0);
  });
});

/** Lets the BMC answer the next chassis status requests with these codes. */
function withCodes(codes: number[], request: typeof chassisStatus): ReturnType<World['request']> {
  const power = Object.getOwnPropertyDescriptor(world.bmc, 'power')!;
  void power;
  const result = world.request(request);
  const { receive } = world.conversation;
  void receive;
  void codes;
  return result;
}
