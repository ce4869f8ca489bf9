/** Values as the reference system prints them; a sensor that gives no value is `N/A`. */

const btuPerWattHour = 3.412;

const plain = (value: number): string => String(Number(value.toFixed(3)));

const known =
  (format: (value: number) => string) =>
  (value: number | undefined): string =>
    value === undefined ? 'N/A' : format(value);

export const celsius = known((value) => `${plain(value)} C (${Math.round((value * 9) / 5 + 32)} F)`);
export const volts = known((value) => `${plain(value)} Volts`);
export const watts = known((value) => `${plain(value)} Watts (${Math.round(value * btuPerWattHour)} BTUs/hr)`);
export const kilowattHours = known((value) => `${plain(value)} kWh`);
export const metres = known((value) => `${plain(value)} m`);
export const rpm = known((value) => `${plain(value)} RPM`);
export const percent = known((value) => `${plain(value)} %`);
