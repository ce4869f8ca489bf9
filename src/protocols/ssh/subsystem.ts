import type { ClientChannel } from 'ssh2';
import { unwatchAbort, watchAbort } from '../../core/aborts.ts';
import { Fault } from '../../core/errors.ts';
import type { Connection } from './connection.ts';
import { abortFault, connectDeadlineFault, lostFault } from './faults.ts';
import { placeOf } from './target.ts';
import { defaultConnectDeadline, type OpenOptions } from './transport.ts';

/** Opens a subsystem on a connection that has a place for it; the place is given back when the stream is closed. */
export function openSubsystem(connection: Connection, name: string, options: OpenOptions): Promise<ClientChannel> {
  const { signal, connectDeadline = defaultConnectDeadline } = options;
  const { target } = connection;
  return new Promise((resolve, reject) => {
    let over = false;
    const settle = (act: () => void): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      unwatchAbort(signal, watch);
      act();
    };
    const watch = { aborted: (): void => settle(() => reject(abortFault(signal))) };
    const timer = setTimeout(() => {
      settle(() => reject(connectDeadlineFault(target, connectDeadline)));
      connection.destroy();
    }, connectDeadline);
    watchAbort(signal, watch);
    const refused = (error: Error): void => {
      const { isOpen } = connection;
      connection.release();
      const sentence = `its sshd at ${placeOf(target)} does not offer ${name}: ${error.message}.`;
      settle(() => reject(isOpen ? new Fault('invalid', sentence) : lostFault(target, error)));
    };
    try {
      connection.subsystem(name, (error, channel) => {
        if (error) {
          refused(error);
          return;
        }
        channel.on('error', () => undefined).once('close', () => connection.release());
        channel.stderr.on('error', () => undefined).resume();
        if (over) channel.destroy();
        else settle(() => resolve(channel));
      });
    } catch (error) {
      refused(error as Error);
    }
  });
}
