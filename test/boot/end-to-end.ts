import { expect } from 'vitest';
import { isInstalled } from '../../scripts/packages.ts';
import { machineArch } from '../lab/netboot/machine.ts';
import type { BootWorld } from '../lab/netboot/world.ts';

export const isPc = machineArch === 'x86_64';
export const canBoot = isInstalled(`qemu-system-${machineArch}`);
if (!canBoot) console.warn('The tests with machines that boot are left out: QEMU could not be installed.');

/** Software emulation on a machine that does other things too. */
export const bootTimeout = 1_500_000;

/** The driver of a BMC keeps an emulated machine busy; ramdisk.test.ts shows one that is asked from inside. */
export const quickHardware = { hidesProcessor: true } as const;

type Step = 'initramfs' | 'fetching' | 'booted';

/** What an administrator does with machines that boot, and sees of them. */
export class BootDesk {
  readonly world: BootWorld;

  constructor(world: BootWorld) {
    this.world = world;
  }

  async start(node: string, state: object): Promise<void> {
    const server = this.world.server();
    await server.ok('PUT', `/nodes/${node}/bootstate`, state);
    await server.ok('PUT', `/nodes/${node}/nextboot`, { order: 'net' });
    await server.ok('PUT', `/nodes/${node}/power`, { action: 'on' });
  }

  /** As soon as a machine has shown what it is for: it would take time from the others. */
  off(node: string): Promise<unknown> {
    return this.world.server().ok('PUT', `/nodes/${node}/power`, { action: 'off' });
  }

  async steps(node: string): Promise<readonly string[]> {
    return (await this.#boot(node)).steps ?? [];
  }

  /** Waits for a step of the node's boot; if it fails, what the machine shows is told. */
  async reaches(node: string, step: Step): Promise<void> {
    const seen = async (): Promise<string> => {
      const { steps = [], why } = await this.#boot(node);
      return `${steps.join('\n')}\n${why}\n${this.screen(node)}`;
    };
    // A poll goes on when what it looks at throws.
    await this.#until(seen, new RegExp(` report (${step}|failed)`));
    expect(await seen()).toContain(` report ${step}`);
  }

  /** Waits until a step of the boot before is no longer the last that is known. */
  beginsAnew(node: string): Promise<void> {
    return expect
      .poll(async () => (await this.steps(node)).join('\n'), { timeout: bootTimeout, interval: 1_000 })
      .not.toContain(' report booted');
  }

  /** Waits until the node has done what its boot was for, which leaves it to its disk. */
  hasDone(node: string): Promise<void> {
    const seen = async (): Promise<string> => {
      const { [node]: shown } = await this.world.server().ok('GET', `/nodes/${node}/bootstate`);
      return `${shown.bootstat}\n${this.screen(node)}`;
    };
    return this.#until(seen, /^boot\n/);
  }

  /** Waits until the RAM disk of a node has made a host key and told it. */
  hasHostKey(node: string): Promise<void> {
    const seen = async (): Promise<string> => {
      const { boottoken } = await this.world.server().ok('GET', `/tables/boottoken/rows/node=${node}`);
      return boottoken[0].hostkey ?? this.screen(node);
    };
    return this.#until(seen, /^ssh-ed25519 /);
  }

  async shell(node: string, command: string): Promise<string> {
    const reply = await this.world.server().ok('POST', `/nodes/${node}/nodeshell`, { command });
    return (reply[node] as string[]).join('\n');
  }

  async status(node: string): Promise<string> {
    return (await this.world.server().ok('GET', `/nodes/${node}/attrs/status`))[node].status;
  }

  screen(node: string): string {
    return this.world
      .machine(Number(node.slice(1)) - 1)
      .screen()
      .slice(-2_000);
  }

  async #boot(node: string): Promise<{ steps?: string[]; why?: string }> {
    return (await this.world.server().ok('GET', `/nodes/${node}/boot`))[node];
  }

  #until(seen: () => Promise<string>, wanted: RegExp): Promise<void> {
    return expect.poll(seen, { timeout: bootTimeout, interval: 500 }).toMatch(wanted);
  }
}
