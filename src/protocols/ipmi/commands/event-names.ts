/**
 * What sensors and events are called: IPMI 2.0 tables 42-1 to 42-3. States are listed from offset 0 on; a gap is empty.
 */

const sensorTypes: readonly string[] = `
Reserved|Temperature|Voltage|Current|Fan|Physical Security|Platform Security|Processor|Power Supply|Power Unit
Cooling Device|Other|Memory|Drive Slot|POST Memory Resize|System Firmware Progress|Event Logging Disabled|Watchdog 1
System Event|Critical Interrupt|Button|Module/Board|Microcontroller|Add-in Card|Chassis|Chip Set|Other FRU
Cable/Interconnect|Terminator|System Boot Initiated|Boot Error|OS Boot|OS Stop|Slot/Connector|System ACPI Power State
Watchdog 2|Platform Alert|Entity Presence|Monitor ASIC|LAN|Management Subsystem Health|Battery|Session Audit
Version Change|FRU State`
  .trim()
  .split(/[|\n]/);

export function sensorTypeName(type: number): string {
  return sensorTypes[type] ?? (type >= 0xc0 ? `OEM Sensor Type ${type}` : `Sensor Type ${type}`);
}

export const thresholdStates: readonly string[] = [
  'Lower Non-critical - going low',
  'Lower Non-critical - going high',
  'Lower Critical - going low',
  'Lower Critical - going high',
  'Lower Non-recoverable - going low',
  'Lower Non-recoverable - going high',
  'Upper Non-critical - going low',
  'Upper Non-critical - going high',
  'Upper Critical - going low',
  'Upper Critical - going high',
  'Upper Non-recoverable - going low',
  'Upper Non-recoverable - going high',
];

/** Event/reading types 02h to 0Ch, table 42-2. */
const genericStates: Readonly<Record<number, string>> = {
  0x02: 'Transition to Idle|Transition to Active|Transition to Busy',
  0x03: 'State Deasserted|State Asserted',
  0x04: 'Predictive Failure Deasserted|Predictive Failure Asserted',
  0x05: 'Limit Not Exceeded|Limit Exceeded',
  0x06: 'Performance Met|Performance Lags',
  0x07:
    'Transition to OK|Transition to Non-critical from OK|Transition to Critical from less severe|' +
    'Transition to Non-recoverable from less severe|Transition to Non-critical from more severe|' +
    'Transition to Critical from Non-recoverable|Transition to Non-recoverable|Monitor|Informational',
  0x08: 'Device Absent|Device Present',
  0x09: 'Device Disabled|Device Enabled',
  0x0a:
    'Transition to Running|Transition to In Test|Transition to Power Off|Transition to On Line|' +
    'Transition to Off Line|Transition to Off Duty|Transition to Degraded|Transition to Power Save|Install Error',
  0x0b:
    'Fully Redundant|Redundancy Lost|Redundancy Degraded|Non-redundant: Sufficient Resources from Redundant|' +
    'Non-redundant: Sufficient Resources from Insufficient Resources|Non-redundant: Insufficient Resources|' +
    'Redundancy Degraded from Fully Redundant|Redundancy Degraded from Non-redundant',
  0x0c: 'D0 Power State|D1 Power State|D2 Power State|D3 Power State',
};

/** Event/reading type 6Fh, by sensor type, table 42-3. */
const specificStates: Readonly<Record<number, string>> = {
  0x05:
    'General Chassis Intrusion|Drive Bay Intrusion|I/O Card Area Intrusion|Processor Area Intrusion|' +
    'System Unplugged from LAN|Unauthorized Dock|Fan Area Intrusion',
  0x06:
    'Front Panel Lockout Violation Attempted|Pre-boot User Password Violation|Pre-boot Setup Password Violation|' +
    'Pre-boot Network Boot Password Violation|Other Pre-boot Password Violation|Out-of-band Access Password Violation',
  0x07:
    'IERR|Thermal Trip|FRB1/BIST Failure|FRB2/Hang in POST Failure|FRB3/Processor Startup Failure|' +
    'Configuration Error|SM BIOS Uncorrectable CPU-complex Error|Processor Presence Detected|Processor Disabled|' +
    'Terminator Presence Detected|Processor Automatically Throttled|Machine Check Exception|Correctable Machine Check Error',
  0x08:
    'Presence Detected|Power Supply Failure Detected|Predictive Failure|Power Supply Input Lost (AC/DC)|' +
    'Power Supply Input Lost or Out-of-range|Power Supply Input Out-of-range, but Present|Configuration Error|' +
    'Power Supply Inactive',
  0x09:
    'Power Off/Power Down|Power Cycle|240VA Power Down|Interlock Power Down|AC Lost|Soft Power Control Failure|' +
    'Power Unit Failure Detected|Predictive Failure',
  0x0c:
    'Correctable ECC|Uncorrectable ECC|Parity|Memory Scrub Failed|Memory Device Disabled|' +
    'Correctable ECC Logging Limit Reached|Presence Detected|Configuration Error|Spare|Throttled|' +
    'Critical Overtemperature',
  0x0d:
    'Drive Presence|Drive Fault|Predictive Failure|Hot Spare|Consistency/Parity Check in Progress|In Critical Array|' +
    'In Failed Array|Rebuild/Remap in Progress|Rebuild/Remap Aborted',
  0x0f: 'System Firmware Error|System Firmware Hang|System Firmware Progress',
  0x10:
    'Correctable Memory Error Logging Disabled|Event Type Logging Disabled|Log Area Reset/Cleared|' +
    'All Event Logging Disabled|SEL Full|SEL Almost Full|Correctable Machine Check Error Logging Disabled',
  0x11:
    'BIOS Watchdog Reset|OS Watchdog Reset|OS Watchdog Shut Down|OS Watchdog Power Down|OS Watchdog Power Cycle|' +
    'OS Watchdog NMI/Diagnostic Interrupt|OS Watchdog Expired|OS Watchdog Pre-timeout Interrupt',
  0x12:
    'System Reconfigured|OEM System Boot Event|Undetermined System Hardware Failure|Entry Added to Auxiliary Log|' +
    'PEF Action|Timestamp Clock Synch',
  0x13:
    'Front Panel NMI/Diagnostic Interrupt|Bus Timeout|I/O Channel Check NMI|Software NMI|PCI PERR|PCI SERR|' +
    'EISA Fail Safe Timeout|Bus Correctable Error|Bus Uncorrectable Error|Fatal NMI|Bus Fatal Error|Bus Degraded',
  0x14: 'Power Button Pressed|Sleep Button Pressed|Reset Button Pressed|FRU Latch Open|FRU Service Request Button',
  0x19: 'Soft Power Control Failure|Thermal Trip',
  0x1b: 'Cable/Interconnect Connected|Configuration Error',
  0x1d:
    'Initiated by Power Up|Initiated by Hard Reset|Initiated by Warm Reset|User Requested PXE Boot|' +
    'Automatic Boot to Diagnostic|OS Initiated Hard Reset|OS Initiated Warm Reset|System Restart',
  0x1e:
    'No Bootable Media|Non-bootable Diskette Left in Drive|PXE Server Not Found|Invalid Boot Sector|' +
    'Timeout Waiting for Selection of Boot Source',
  0x1f:
    'A: Boot Completed|C: Boot Completed|PXE Boot Completed|Diagnostic Boot Completed|CD-ROM Boot Completed|' +
    'ROM Boot Completed|Boot Completed|Installation Started|Installation Completed|Installation Aborted|Installation Failed',
  0x20:
    'Critical Stop during OS Load|Run-time Critical Stop|OS Graceful Stop|OS Graceful Shutdown|Soft Shutdown by PEF|' +
    'Agent Not Responding',
  0x21:
    'Fault Status Asserted|Identify Status Asserted|Device Installed|Ready for Device Installation|' +
    'Ready for Device Removal|Slot Power Off|Device Removal Request|Interlock Asserted|Slot Disabled|Spare Device',
  0x22:
    'S0/G0: Working|S1: Sleeping, Context Maintained|S2: Sleeping, Processor Context Lost|' +
    'S3: Sleeping, Memory Retained|S4: Suspend-to-disk|S5/G2: Soft-off|S4/S5: Soft-off|G3: Mechanical Off|' +
    'Sleeping in S1, S2 or S3|G1: Sleeping|S5 by Override|Legacy On|Legacy Off||Unknown',
  0x23: 'Timer Expired|Hard Reset|Power Down|Power Cycle|||||Timer Interrupt',
  0x24: 'Platform Generated Page|Platform Generated LAN Alert|Platform Event Trap Generated|Platform Generated SNMP Trap',
  0x25: 'Entity Present|Entity Absent|Entity Disabled',
  0x27: 'LAN Heartbeat Lost|LAN Heartbeat',
  0x28:
    'Sensor Access Degraded or Unavailable|Controller Access Degraded or Unavailable|Management Controller Off-line|' +
    'Management Controller Unavailable|Sensor Failure|FRU Failure',
  0x29: 'Battery Low|Battery Failed|Battery Presence Detected',
  0x2a: 'Session Activated|Session Deactivated|Invalid Username or Password|Invalid Password Disable',
  0x2b:
    'Hardware Change Detected|Firmware or Software Change Detected|Hardware Incompatibility Detected|' +
    'Firmware or Software Incompatibility Detected|Unsupported Hardware Version|Unsupported Firmware or Software Version|' +
    'Hardware Change Successful|Firmware or Software Change Successful',
  0x2c:
    'FRU Not Installed|FRU Inactive|FRU Activation Requested|FRU Activation in Progress|FRU Active|' +
    'FRU Deactivation Requested|FRU Deactivation in Progress|FRU Communication Lost',
};

const split = (texts: Readonly<Record<number, string>>) =>
  new Map(Object.entries(texts).map(([key, text]) => [Number(key), text.split('|')]));
const generic = split(genericStates);
const specific = split(specificStates);

export const eventTypes = { threshold: 0x01, sensorSpecific: 0x6f };

/** What this state of a sensor means. */
export function stateName(sensorType: number, eventType: number, offset: number): string {
  const names =
    eventType === eventTypes.threshold
      ? thresholdStates
      : eventType === eventTypes.sensorSpecific
        ? specific.get(sensorType)
        : generic.get(eventType);
  return names?.[offset] || `State ${offset}`;
}

/** The names of the states whose bits are set. */
export function stateNames(sensorType: number, eventType: number, states: number): readonly string[] {
  const names: string[] = [];
  for (let offset = 0; offset < 15; offset += 1) {
    if (states & (1 << offset)) names.push(stateName(sensorType, eventType, offset));
  }
  return names;
}
