import { connect } from 'node:net';

const prompt = '> ';

/** Gives one command to the console of an ipmi_sim process and answers what it printed. */
export function consoleCommand(address: string, port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, address);
    let output = '';
    let sent = false;
    socket.setTimeout(3_000, () => socket.destroy(new Error(`The console of ${address} does not answer.`)));
    socket.on('data', (chunk: Buffer) => {
      output += chunk.toString('latin1');
      // The console also tells of sessions that come and go, so that the prompt need not be the end.
      if (!output.includes(prompt)) return;
      if (sent) socket.end();
      else socket.write(`${command}\n`);
      if (!sent) output = '';
      sent = true;
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(output.slice(0, output.lastIndexOf(prompt)).trim()));
  });
}
