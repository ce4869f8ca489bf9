// What an account of a BMC gets over SSH: the console of the machine at once, or a command line with a command for it. Sets aside all that
// terminals do with characters. node console-shell.mjs STYLE FILE: FILE is there while somebody has the console.
import { existsSync, rmSync, writeFileSync } from 'node:fs';

const styles = {
  openbmc: { leave: '\r~.', breakKeys: '~B' },
  ilo: {
    prompt: '</>hpiLO-> ',
    enter: 'vsp',
    kill: 'stop /system1/oemhp_vsp1',
    busy: 'Virtual Serial Port is currently in use by another session.',
    leave: '\x1b(',
  },
  xcc: {
    prompt: 'system> ',
    enter: 'console 1',
    kill: 'console kill 1',
    busy: 'Console 1 is in use by another session',
    leave: '\x1b(',
  },
  idrac: { prompt: 'racadm>>', enter: 'console com2', busy: 'Serial port is in use.', leave: '\x1c' },
  shared: { prompt: 'lab$ ', enter: 'open serial', busy: 'The port is in use.', leave: '\x1b(' },
};
const [, , name, file] = process.argv;
const style = styles[name];
// The terminal makes a line end of two characters of each of one.
const print = (text) => process.stdout.write(Buffer.from(text.replaceAll('\r\n', '\n'), 'latin1'));
let isThere = false;
let typed = '';

function enter() {
  if (existsSync(file)) return print(`${style.busy}\r\n${style.prompt}`);
  writeFileSync(file, String(process.pid));
  isThere = true;
  typed = '';
  print('\r\nmachine login: ');
}

function leave() {
  if (isThere) rmSync(file, { force: true });
  process.exit(0);
}

function command(line) {
  print('\r\n');
  if (line === style.enter) enter();
  else if (line === style.kill) {
    rmSync(file, { force: true });
    print(style.prompt);
  } else print(`Unknown command: ${line}\r\n${style.prompt}`);
}

process.stdin.setRawMode?.(true);
process.stdin.on('data', (bytes) => {
  for (const character of bytes.toString('latin1')) {
    typed += character;
    if (!isThere) {
      if (character !== '\r') print(character);
      else command(typed.slice(0, -1).trim());
      if (character === '\r') typed = '';
    } else if (typed.endsWith(style.leave)) leave();
    else if (style.breakKeys && typed.endsWith(style.breakKeys)) print('<break>');
    else print(character === '\r' ? '\r\nmachine login: ' : character);
  }
});
process.stdin.on('end', leave);
process.on('SIGHUP', leave);
if (style.prompt) print(`Lab BMC\r\n\r\n${style.prompt}`);
else enter();
