// Runs in the network of the nodes: sshd at the addresses of n1 and n2. Told which keys to accept; ends when nobody is there to tell it more.
import { startSsh } from '../../lab/ssh.ts';

const count = 12;
const refusing = Array.from({ length: count - 2 }, (_, index) => index);
const lab = await startSsh({ count, prefix: '10.0', port: 22, perProcess: 1, refusing });
process.on('message', (keys: string[]) => {
  for (const key of keys) lab.authorize(key);
  process.send!('authorized');
});
process.once('disconnect', () => void lab.stop().then(() => process.exit()));
process.send!('ready');
