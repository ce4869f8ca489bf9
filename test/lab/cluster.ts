import { labAccounts } from './addresses.ts';
import { startBmcs } from './bmc.ts';
import { startLightBmcs } from './light-bmc.ts';
import { startRedfish } from './redfish.ts';

export interface ClusterOptions {
  readonly bmcs: number;
  readonly redfish: number;
  readonly prefix: string;
  readonly redfishPrefix: string;
  readonly delay: number;
  readonly loss: number;
}

type Definitions = Record<string, Record<string, string>>;

/** Simulated BMCs, and the definitions of the nodes and groups they belong to. */
export interface Cluster {
  readonly nodes: Definitions;
  readonly groups: Definitions;
  /** One sentence about each part. */
  readonly parts: readonly string[];
  stop(): Promise<void>;
}

/** More than these are simulated by our own light BMCs. */
const mostIpmiSim = 1_000;

/** How a group computes the address of a node's BMC from the number in its name; see labAddress. */
const addressPattern = (name: string, prefix: string): string =>
  `|${name}(\\d+)|${prefix}.(($1-1)/250).(($1-1)%250+1)|`;

const { username, password } = labAccounts.administrator;
const login = { bmcusername: username, bmcpassword: password };

function addNodes(
  cluster: { nodes: Definitions; groups: Definitions },
  name: string,
  count: number,
  mgt: string,
  prefix: string,
) {
  const group = `lab${mgt}`;
  for (let number = 1; number <= count; number++) cluster.nodes[`${name}${number}`] = { groups: `all,lab,${group}` };
  cluster.groups[group] = { mgt, bmc: addressPattern(name, prefix), ...login };
}

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { bmcs, redfish, prefix, redfishPrefix, delay, loss } = options;
  const running: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((lab) => lab.stop()));
  };
  const cluster = { nodes: {} as Definitions, groups: {} as Definitions };
  const parts: string[] = [];
  try {
    if (bmcs > 0) {
      const light = bmcs > mostIpmiSim;
      const start = light ? startLightBmcs : startBmcs;
      const lab = await start({ count: bmcs, prefix, ...(delay > 0 ? { delay } : {}), ...(loss > 0 ? { loss } : {}) });
      running.push(lab);
      addNodes(cluster, 'sim', bmcs, 'ipmi', prefix);
      const which = light ? 'the light simulator' : 'ipmi_sim';
      parts.push(
        `${bmcs} BMCs by ${which} on ${lab.addresses[0]} to ${lab.addresses.at(-1)}, UDP port 623: sim[1-${bmcs}]`,
      );
    }
    if (redfish > 0) {
      const lab = await startRedfish({ count: redfish, prefix: redfishPrefix, delay });
      running.push(lab);
      addNodes(cluster, 'rf', redfish, 'redfish', redfishPrefix);
      parts.push(
        `${redfish} Redfish services on ${lab.addresses[0]} to ${lab.addresses.at(-1)}, TCP port 443: rf[1-${redfish}]`,
      );
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...cluster, parts, stop };
}
