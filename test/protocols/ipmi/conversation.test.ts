import { beforeEach, describe, expect, test } from 'vitest';
import { Fault, Unreachable } from '../../../src/core/errors.ts';
import { answerPacket } from '../../lab/light-bmc/bmc.ts';
import { readIpmi, readPlus, writeIpmi } from '../../lab/light-bmc/packets.ts';
import { seal, takeSequence, unseal } from '../../lab/light-bmc/session.ts';
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

/** What the BMC would have sent, made a refusal. */
function refusalOf(reply: Buffer, status: number): Buffer {
  const refusal = Buffer.from(reply.subarray(0, 24));
  refusal[17] = status;
  refusal.writeUInt16LE(8, 14);
  return refusal;
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

  test('uses suite 3 when 17 is refused', async () => {
    const suites: number[] = [];
    world.answer = (packet) => {
      if (kindOf(packet) === 'open') suites.push(packet[28]!);
      const reply = answerPacket(world.bmc, packet);
      return kindOf(packet) === 'open' && packet[28] === 3 ? refusalOf(reply!, 0x11) : reply;
    };
    const request = world.request();
    await world.run(20);
    expect(responseOf(request).code).toBe(0);
    expect(suites).toEqual([3, 1]);
  });

  describe('with a lesser suite than the policy wants first', () => {
    const suites: number[] = [];
    let refuse17: boolean;

    /** Which authentication algorithms are offered by a login, 3 being that of suite 17, after a while without a session. */
    async function offered(after: number): Promise<number[]> {
      await world.run(after);
      suites.length = 0;
      const request = world.request();
      await world.run(30_000);
      expect(responseOf(request).code).toBe(0);
      return [...suites];
    }

    beforeEach(() => {
      refuse17 = true;
      world.answer = (packet) => {
        if (kindOf(packet) !== 'open') return answerPacket(world.bmc, packet);
        suites.push(packet[28]!);
        const reply = answerPacket(world.bmc, packet)!;
        return refuse17 && packet[28] === 3 ? refusalOf(reply, 0x11) : reply;
      };
    });

    test('remembers it for an hour, however often it is used', async () => {
      expect(await offered(0)).toEqual([3, 1]);
      for (let minutes = 0; minutes < 56; minutes += 8) expect(await offered(450_000)).toEqual([1]);
      expect(await offered(450_000)).toEqual([3, 1]);
    });

    test('does not remember it once the better one was accepted', async () => {
      expect(await offered(0)).toEqual([3, 1]);
      refuse17 = false;
      expect(await offered(3_600_000)).toEqual([3]);
      refuse17 = true;
      expect(await offered(0)).toEqual([3, 1]);
    });

    test('does not remember it for another BMC at the same address', async () => {
      expect(await offered(0)).toEqual([3, 1]);
      world.bmc.guid[0]! ^= 1;
      expect(await offered(0)).toEqual([1]);
      expect(await offered(0)).toEqual([3, 1]);
    });
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
    expect(faultOf(request).message).toBe('its BMC at 192.0.2.1 does not accept IPMI cipher suite 17 (status 11h).');
    expect(world.kinds).toEqual(['open', 'open']);
  });

  test('goes on after one refusal of its open request, which may be forged', async () => {
    let opens = 0;
    world.answer = (packet) => {
      const reply = answerPacket(world.bmc, packet);
      return reply && kindOf(packet) === 'open' && opens++ === 0 ? refusalOf(reply, 0x01) : reply;
    };
    const request = world.request();
    await world.run(50);
    expect(responseOf(request).code).toBe(0);
  });

  test('refuses a BMC that answers with weaker algorithms than asked for', async () => {
    world.answer = (packet) => {
      const reply = answerPacket(world.bmc, packet)!;
      if (kindOf(packet) === 'open') for (const at of [32, 40, 48]) reply[at] = 0;
      return reply;
    };
    const request = world.request();
    await world.run(20);
    expect(faultOf(request).message).toContain('does not accept any of the IPMI cipher suites 17, 3');
    expect(world.kinds).toEqual(['open', 'open', 'open', 'open']);
  });
});

describe('lost, doubled and late packets', () => {
  test.each([
    ['out', 'open'],
    ['back', 'opened'],
    ['out', 'rakp1'],
    ['back', 'rakp2'],
    ['out', 'rakp3'],
    ['back', 'rakp4'],
    ['out', 'sealed'],
    ['back', 'sealed'],
  ] as const)('the loss of one packet (%s: %s) costs one retry', async (direction, kind) => {
    world[direction] = losing(`${kind}#1`);
    const request = world.request();
    await world.run(390);
    expect(request.outcome).toBeUndefined();
    await world.run(150);
    expect(responseOf(request).code).toBe(0);
    expect(world.sent).toHaveLength(5);
  });

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
    expect(world.sent.map(({ at }) => at)).toHaveLength(10);
    const waits = world.sent.slice(1).map(({ at }, index) => at - world.sent[index]!.at);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  });

  test('a BMC that answers after 3 s is talked to within a longer deadline, without doubled RAKP packets', async () => {
    world = new World({}, { timeout: 20_000 });
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
    world.out = losing('rakp3#1', 'rakp3#2', 'rakp3#3', 'rakp3#4');
    const request = world.request();
    await world.run(3_000);
    expect(responseOf(request).code).toBe(0);
    expect(world.kinds).toEqual([
      'open',
      'rakp1',
      'rakp3',
      'rakp3',
      'rakp3',
      'rakp3',
      'sealed',
      'rakp3',
      'open',
      'rakp1',
      'rakp3',
      'sealed',
    ]);
  });

  test.each([0.05, 0.2, 0.3])('with a loss of %d all requests are answered', async (share) => {
    let state = 12345;
    const route = (): readonly number[] => {
      state = (state * 1103515245 + 12345) & 0x7fffffff;
      return state / 0x7fffffff < share ? [] : [1];
    };
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
      expect(faultOf(one).message).toBe('its BMC at 192.0.2.1 did not answer within 5 s.');
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
    expect(faultOf(request).message).toBe('its BMC at 192.0.2.1 cannot be reached (ENETUNREACH).');
  });
});

test.each([
  [chassisStatus, 12_100],
  [powerOn, 15_100],
])('a BMC that takes three seconds for each answer is waited for', async (wanted, patience) => {
  world.back = () => [3_000];
  const request = world.request(wanted);
  await world.run(patience);
  expect(responseOf(request).code).toBe(0);
});

describe('a lost session', () => {
  test('is replaced by a new one for a request that may be repeated', async () => {
    world.request();
    await world.run(20);
    world.bmc.sessions.clear();
    const request = world.request();
    await world.run(2_000);
    expect(responseOf(request).code).toBe(0);
    expect(world.kinds.slice(4)).toEqual([...Array(4).fill('sealed'), 'open', 'rakp1', 'rakp3', 'sealed']);
  });

  test('is replaced once only', async () => {
    world.request();
    await world.run(20);
    world.answer = (packet) => (kindOf(packet) === 'sealed' ? undefined : answerPacket(world.bmc, packet));
    const request = world.request();
    // The new login is a sign of life, which begins the wait again.
    await world.run(12_000);
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
    const seen = scriptCodes([0xc0]);
    const request = world.request({ ...chassisStatus, repeatable: false });
    await world.run(3_000);
    expect(responseOf(request).code).toBe(0xc0);
    expect(seen).toHaveLength(1);
  });

  test('gets a whole deadline for its answer, however long the login took', async () => {
    world.out = losing('open#1', 'open#2', 'open#3');
    world.back = (packet) => (kindOf(packet) === 'sealed' ? [3_000] : [1]);
    const request = world.request({ ...chassisStatus, repeatable: false });
    await world.run(8_000);
    expect(responseOf(request).code).toBe(0);
  });
});

/** Lets the BMC answer the next requests in a session with these codes, and tells the numbers of the requests. */
function scriptCodes(codes: number[]): number[] {
  const numbers: number[] = [];
  world.answer = (packet) => {
    const plus = readPlus(packet);
    const session = plus && world.bmc.sessions.get(plus.session);
    const code = session?.isOpen && plus?.session ? codes.shift() : undefined;
    if (!plus || !session || code === undefined) return answerPacket(world.bmc, packet);
    const request = readIpmi(unseal(session, packet, plus.payload)!)!;
    numbers.push(plus.sequence);
    takeSequence(session, plus.sequence);
    return seal(session, writeIpmi(request, code, Buffer.alloc(0)));
  };
  return numbers;
}

describe('a busy BMC', () => {
  test.each([0xc0, 0xc3])('that answers %i is asked again after a pause', async (code) => {
    const seen = scriptCodes([code, code]);
    const request = world.request();
    await world.run(400);
    expect(request.outcome).toBeUndefined();
    await world.run(1_500);
    expect(responseOf(request).code).toBe(0);
    expect(seen).toEqual([1, 2]);
  });

  test('that stays busy is left alone in the end, and its code handed on', async () => {
    const seen = scriptCodes(Array.from({ length: 30 }, () => 0xc0));
    const request = world.request();
    await world.run(10_100);
    expect(responseOf(request).code).toBe(0xc0);
    expect(seen.length).toBeGreaterThan(10);
  });

  test('any other code is handed on at once', async () => {
    scriptCodes([0xc1]);
    const request = world.request();
    await world.run(50);
    expect(responseOf(request)).toMatchObject({ code: 0xc1 });
  });
});

describe('privileges', () => {
  test('a request that needs more than a user raises the session, once', async () => {
    const requests = [world.request({ ...powerOn }), world.request({ ...powerOn })];
    await world.run(50);
    expect(requests.map((one) => responseOf(one).code)).toEqual([0, 0]);
    expect(world.kinds).toEqual(['open', 'rakp1', 'rakp3', 'sealed', 'sealed', 'sealed']);
  });

  test('an account of less privilege gets a session for what it may do', async () => {
    world = new World({ username: 'viewer', password: 'viewpw' });
    const status = world.request();
    await world.run(50);
    expect(responseOf(status).code).toBe(0);
    expect(world.quirks.level).toBe(2);
  });

  test('and a clear refusal, without a packet, for what it may not', async () => {
    world = new World({ username: 'oper', password: 'operpw' });
    world.request();
    await world.run(50);
    const count = world.sent.length;
    const request = world.request({ ...chassisStatus, privilege: 'administrator' });
    await world.run(50);
    expect(faultOf(request).message).toBe(
      'its BMC at 192.0.2.1 refuses the user "oper" the privilege level administrator that the command needs.',
    );
    expect(world.sent).toHaveLength(count);
  });

  test.each([0x80, 0x81])('a BMC that refuses the level with %i', async (code) => {
    scriptCodes([code]);
    const request = world.request(powerOn);
    await world.run(50);
    expect(faultOf(request)).toMatchObject({ kind: 'invalid' });
    expect(faultOf(request).message).toContain(
      `privilege level operator that the command needs (code ${code.toString(16)}h)`,
    );
    expect(world.bmc.controls).toEqual([]);
    const status = world.request();
    await world.run(50);
    expect(responseOf(status).code).toBe(0);
  });
});

describe('a login that fails', () => {
  const refuseAt =
    (kind: string, status: number) =>
    (packet: Buffer): Buffer | undefined => {
      const reply = answerPacket(world.bmc, packet);
      if (!reply || kindOf(packet) !== kind) return reply;
      return refusalOf(reply, status);
    };

  test.each([
    ['open', 0x01, 'refuses the login: all its sessions are taken (01h)'],
    ['rakp1', 0x0d, 'the user "admin" or the password is wrong'],
    ['rakp3', 0x0f, 'the user "admin" or the password is wrong for its BMC at 192.0.2.1, or its key K_g is'],
    ['rakp1', 0x12, 'refuses the login (status 12h)'],
    ['rakp1', 0x0a, 'has no privilege over the network (0Ah)'],
  ])('because %s is refused with %i', async (kind, status, text) => {
    world.answer = refuseAt(kind, status);
    const request = world.request();
    await world.run(50);
    expect(faultOf(request)).toMatchObject({ kind: 'invalid' });
    expect(faultOf(request).message).toContain(text);
  });

  test.each([2, 8])('because of a refusal without a session id, of %i bytes', async (length) => {
    world.answer = (packet) => {
      const reply = answerPacket(world.bmc, packet);
      if (!reply || packet[28] !== 3 || kindOf(packet) !== 'open') return reply;
      const refusal = Buffer.from(reply.subarray(0, 16 + length));
      refusal[17] = 0x04;
      refusal.fill(0, 18);
      refusal.writeUInt16LE(length, 14);
      return refusal;
    };
    const request = world.request();
    await world.run(50);
    expect(responseOf(request).code).toBe(0);
    expect(world.quirks.lesserSuite?.id).toBe(3);
  });

  test('because of a wrong password says so, and makes the BMC forget the session', async () => {
    world = new World({ password: 'wrong' });
    const request = world.request();
    await world.run(50);
    expect(faultOf(request).message).toBe('the user "admin" or the password is wrong for its BMC at 192.0.2.1.');
    expect(world.bmc.sessions.size).toBe(0);
    expect(world.kinds).toEqual(['open', 'rakp1', 'rakp3']);
  });

  test.each([
    [undefined, 'it has a key K_g, which must be given too'],
    [Buffer.from('key'), 'the key K_g given for it is not the right one'],
  ])('because of K_g %s says so', async (kg, text) => {
    world = new World({ kg });
    world.answer = (packet) => {
      const reply = answerPacket(world.bmc, packet);
      if (reply && kindOf(packet) === 'rakp3') reply[30]! ^= 1;
      return reply;
    };
    const request = world.request();
    await world.run(50);
    expect(faultOf(request).message).toContain(text);
  });

  test('is not tried again for a while', async () => {
    world = new World({ password: 'wrong' });
    world.request();
    await world.run(50);
    const again = world.request();
    await world.run(4_000);
    expect(faultOf(again).message).toContain('password is wrong');
    expect(world.kinds.filter((kind) => kind === 'open')).toHaveLength(1);
    expect(world.retired).toBe(0);
    await world.run(1_000);
    expect(world.retired).toBe(1);
    world.request();
    await world.run(50);
    expect(world.kinds.filter((kind) => kind === 'open')).toHaveLength(2);
  });

  test('because the BMC forgot the half-open session begins again', async () => {
    let refused = 0;
    const refuse = refuseAt('rakp1', 0x02);
    world.answer = (packet) =>
      kindOf(packet) === 'rakp1' && refused++ === 0 ? refuse(packet) : answerPacket(world.bmc, packet);
    const request = world.request();
    await world.run(50);
    expect(responseOf(request).code).toBe(0);
  });

  test('because a doubled RAKP 1 confused the BMC begins again', async () => {
    let refused = 0;
    const refuse = refuseAt('rakp3', 0x0f);
    world.answer = (packet) =>
      kindOf(packet) === 'rakp3' && refused++ === 0 ? refuse(packet) : answerPacket(world.bmc, packet);
    world.back = losing('rakp2#1');
    const request = world.request();
    await world.run(700);
    expect(responseOf(request).code).toBe(0);
  });
});

describe('ending', () => {
  test.each([1, 3_000])('a BMC that answered after %i ms and died is unreachable, session or not', async (delay) => {
    world.back = () => [delay];
    const first = world.request();
    await world.run(20_000);
    expect(responseOf(first).code).toBe(0);
    world.out = () => [];
    const second = world.request();
    await world.run(10_000);
    expect(faultOf(second)).toBeInstanceOf(Unreachable);
    expect(faultOf(second)).toMatchObject({ kind: 'invalid' });
  });

  test('a BMC that lets us in and then falls silent has passed the deadline', async () => {
    world.back = (packet) => (kindOf(packet) === 'sealed' ? [] : [1]);
    const request = world.request();
    await world.run(10_100);
    expect(faultOf(request)).toMatchObject({ kind: 'deadline' });
  });

  test.each([
    [0, 5],
    [2_000, 7],
    [60_000, 10],
  ])(
    'silence lasts longer by the %i ms in which this process could not listen, at most twice as long',
    async (lag, seconds) => {
      world.out = () => [];
      const request = world.request();
      await world.run(1_000);
      world.lag = lag;
      await world.run(1_000 * seconds - 1_001);
      expect(request.outcome).toBeUndefined();
      await world.run(2);
      expect(faultOf(request).message).toBe(`its BMC at 192.0.2.1 did not answer within ${seconds} s.`);
    },
  );

  test('a BMC that dies in a session is reported with all the time that passed', async () => {
    world.request();
    await world.run(1_000);
    world.out = () => [];
    const request = world.request();
    await world.run(5_001);
    expect(faultOf(request).message).toBe('its BMC at 192.0.2.1 did not answer within 5 s.');
  });

  test('an idle session is closed, and nothing is left', async () => {
    world.request();
    await world.run(24_900);
    expect(world.bmc.sessions.size).toBe(1);
    await world.run(200);
    expect(world.bmc.sessions.size).toBe(0);
    expect(world.kinds).toHaveLength(5);
    expect(world.claimed.size).toBe(0);
    expect(world.retired).toBe(1);
  });

  test('a session in use is not closed', async () => {
    for (let count = 0; count < 5; count++) {
      world.request();
      await world.run(20_000);
    }
    expect(world.kinds).toHaveLength(8);
  });

  test.each([0, 1, 3, 5])('after an abort %i ms into a login its session is closed when idle', async (when) => {
    const controller = new AbortController();
    const request = world.request(chassisStatus, controller.signal);
    await world.run(when);
    controller.abort(new Fault('unavailable', 'The client left.'));
    await world.run(100);
    expect(faultOf(request).message).toBe('The client left.');
    expect(world.bmc.sessions.size).toBe(1);
    await world.run(26_000);
    expect([world.bmc.sessions.size, world.claimed.size, world.retired]).toEqual([0, 0, 1]);
    expect(world.kinds).toEqual(['open', 'rakp1', 'rakp3', 'sealed']);
  });

  test.each([0, 1, 3, 5])('after an abort %i ms into a login its session serves the next request', async (when) => {
    const controller = new AbortController();
    world.request(chassisStatus, controller.signal);
    await world.run(when);
    controller.abort();
    const next = world.request();
    await world.run(100);
    expect(responseOf(next).code).toBe(0);
    expect(world.kinds).toEqual(['open', 'rakp1', 'rakp3', 'sealed']);
    expect(world.bmc.sessions.size).toBe(1);
  });

  test('after an abort a silent BMC is sent nothing more, and who asks next has a whole deadline', async () => {
    world.out = () => [];
    const controller = new AbortController();
    world.request(chassisStatus, controller.signal);
    await world.run(100);
    controller.abort();
    await world.run(4_000);
    expect(world.kinds).toEqual(['open']);
    const next = world.request();
    await world.run(3_000);
    expect(next.outcome).toBeUndefined();
    world.out = () => [1];
    await world.run(1_900);
    expect(responseOf(next).code).toBe(0);
  });

  test.each([3, 5])('closing %i ms into a login leaves no session on the BMC', async (when) => {
    const request = world.request();
    await world.run(when);
    expect(world.bmc.sessions.size).toBe(1);
    world.conversation.close();
    await world.run(100);
    expect(faultOf(request)).toMatchObject({ kind: 'unavailable' });
    expect([world.bmc.sessions.size, world.claimed.size, world.retired]).toEqual([0, 0, 1]);
  });

  test('a BMC whose last answer of a login is lost for good is told to forget it', async () => {
    world.back = (packet) => (kindOf(packet) === 'rakp4' ? [] : [1]);
    const request = world.request();
    await world.run(20_000);
    expect(faultOf(request)).toBeInstanceOf(Unreachable);
    expect(world.retired).toBe(1);
    expect([...world.bmc.sessions.values()].filter(({ isOpen }) => isOpen)).toEqual([]);
  });

  test.each([
    ['was ended before', chassisStatus, AbortSignal.abort()],
    ['is too long', { ...chassisStatus, data: Buffer.alloc(1_000) }, new AbortController().signal],
  ])('a first request that %s leaves no conversation behind', async (_what, request, signal) => {
    const asked = world.request(request, signal);
    await world.run(1);
    expect(faultOf(asked)).toBeInstanceOf(Fault);
    expect(world.retired).toBe(1);
  });

  test('an abort without a Fault as its reason is a Fault all the same', async () => {
    const controller = new AbortController();
    const request = world.request(chassisStatus, controller.signal);
    controller.abort();
    const late = world.request(chassisStatus, controller.signal);
    await world.run(1);
    expect(faultOf(request)).toBeInstanceOf(Fault);
    expect(faultOf(late)).toBeInstanceOf(Fault);
  });

  test('an abort of the first request leaves the login to the next', async () => {
    const controller = new AbortController();
    const [first, second] = [world.request(chassisStatus, controller.signal), world.request()];
    await world.run(3);
    controller.abort();
    await world.run(50);
    expect(faultOf(first)).toMatchObject({ kind: 'deadline' });
    expect(responseOf(second).code).toBe(0);
    expect(world.kinds.filter((kind) => kind === 'open')).toHaveLength(1);
  });

  test('an abort of a waiting request takes it out of the queue', async () => {
    const controller = new AbortController();
    const [first, second] = [world.request(), world.request(powerOn, controller.signal)];
    controller.abort();
    await world.run(50);
    expect(responseOf(first).code).toBe(0);
    expect(faultOf(second)).toMatchObject({ kind: 'deadline' });
    expect(world.bmc.controls).toEqual([]);
  });

  test('closing ends what waits and closes the session', async () => {
    world.request();
    await world.run(20);
    const waiting = [world.request(), world.request()];
    world.conversation.close();
    await world.run(20);
    for (const one of waiting) expect(faultOf(one)).toMatchObject({ kind: 'unavailable' });
    expect(world.bmc.sessions.size).toBe(0);
    expect(world.retired).toBe(1);
  });

  test('a request with too much data is refused', async () => {
    const request = world.request({ ...chassisStatus, data: Buffer.alloc(1_000) });
    await world.run(1);
    expect(faultOf(request).message).toMatch(/1000 bytes of data is too long/);
    expect(world.sent).toEqual([]);
  });
});
