import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HostileServer, hostileServer, stream, Victim } from './hostile-server.ts';

let lab: HostileServer;
let victim: Victim;
beforeAll(async () => {
  lab = await hostileServer();
  victim = new Victim(lab);
});
afterAll(() => lab?.server.stop());

/** What would be read as another object, of a kind that gives rights. */
const planted = 'x\n7:\n\tobjtype=policy\n\tname=*\n\trule=allow\n';

describe('what devices say of themselves begins no line of a stanza', () => {
  it('rscan: names of machines', async () => {
    const found = (name: string, model: string) => ({ node: name, value: { mgt: 'kvm', vmhost: 'hv1', model } });
    lab.answers = {
      '/nodes/hv1/subnodes': stream(found('v1', `a\r\nb`), found(planted, ''), found('web.example', '')),
    };
    expect(await victim.run(['rscan', 'hv1', '-z'])).toEqual({
      code: 1,
      stdout: 'v1:\n  objtype=node\n  groups=all\n  mgt=kvm\n  vmhost=hv1\n  mtm=a b\n\n',
      stderr:
        'Error: No node can be called like these, so they have no stanza: "x 7: objtype=policy name=* rule=allow", "web.example".\n',
    });
  });

  it('bmcdiscover: model and serial number', async () => {
    lab.answers = { '/services/bmcdiscover': [`10.0.0.1,${planted},${planted},admin,,mp,redfish,`] };
    const { stdout } = await victim.run(['bmcdiscover', '--range', '10.0.0.1', '-z']);
    expect(stdout).toContain('bmc=10.0.0.1\n');
    expect(stdout.split('\n').filter((line) => /^(7:|\s*(objtype=policy|rule=|name=))/.test(line))).toEqual([]);
  });

  it('lsslp: attributes of devices', async () => {
    lab.answers = { '/services/slpnodes': { [planted]: { objtype: 'node', serial: planted, ['a\nrule']: 'allow' } } };
    const { stdout } = await victim.run(['lsslp', '-z']);
    expect(stdout).toContain('\tobjtype=node\n');
    expect(stdout.split('\n').filter((line) => /^(7:|\s*(objtype=policy|rule=|name=))/.test(line))).toEqual([]);
  });
});
