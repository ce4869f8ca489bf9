/*
 * labbmc.so: a "loadlib" module for ipmi_sim (OpenIPMI 2.0.33 of Debian 12). It adds what the stock simulator lacks:
 *   chassis.c   power, boot flags, identify and restore policy kept in the process, no fork per request
 *   dcmi.c      DCMI 1.5: power reading and limit, asset tag, controller id, temperature
 *   suite17.c   cipher suite 17: RAKP-HMAC-SHA256, HMAC-SHA256-128, AES-CBC-128
 *   lan.c       SNMP community and destinations
 *   qmp.c       reset of a running QEMU, and its boot order
 *   wire.c      defects of the stock answers mended; delay, loss and other faults per BMC
 * One process has many BMCs; each is a management controller (MC), known by its IPMB address.
 * Every change of state is appended to the state file as "IPMB key=value".
 */
#ifndef LABBMC_H
#define LABBMC_H

#include <time.h>
#include <OpenIPMI/serv.h>
#include <OpenIPMI/lanserv.h>
#include <OpenIPMI/mcserv.h>

enum { DESTINATIONS = 4 };

typedef struct {
    lmc_data_t *mc;
    lanserv_data_t *lan;
    unsigned char power, policy;
    unsigned char boot[16][17]; /* boot option parameters as they were set */
    unsigned char identify_forced;
    time_t identify_until, on_since;
    unsigned short idle_watts;
    struct {
        unsigned char active, exception;
        unsigned short watts, sampling;
        unsigned int correction_ms;
    } limit;
    char asset[64], controller_id[65];
    unsigned char community[18], destination_types[DESTINATIONS][4], destinations[DESTINATIONS][13];
    struct {
        unsigned delay_ms, loss_percent, garbage, refuse_suite17, drop_settings;
    } fault;
} bmc_t;

/* Module options: statefile=FILE [vm=1] [bootnow=FILE] [qmp=SOCKET] [delay=MS] [loss=PERCENT] [no0=1] */
typedef struct {
    char statefile[512];
    char bootnow[512]; /* told the boot device at every start */
    char qmp[512];     /* the control socket of the machine, by which it is reset */
    int vm;            /* power is a virtual machine that ipmi_sim starts */
    int refuse_suite0;
    unsigned delay_ms, loss_percent;
} options_t;

typedef void handler_t(lmc_data_t *mc, msg_t *m, unsigned char *r, unsigned int *len, void *cb);

extern sys_data_t *simulator;
extern options_t options;

bmc_t *bmc_of(lmc_data_t *mc);
bmc_t *bmc_of_lan(lanserv_data_t *lan);
unsigned char ipmb_of(lmc_data_t *mc);
void note(lmc_data_t *mc, const char *key, long value);

void put16(unsigned char *p, unsigned value);
void put32(unsigned char *p, unsigned value);
unsigned get32(const unsigned char *p);
void answer(unsigned char *r, unsigned int *len, unsigned char code);

int is_on(lmc_data_t *mc);
void chassis_start(void);
void chassis_attach(lmc_data_t *mc);
int qmp_reset(const char *path, int network_first);
void dcmi_start(void);
void suite17_start(void);
void wire_start(void);
void wire_attach(bmc_t *bmc);
void lan_attach(bmc_t *bmc);
void lan_begin(bmc_t *bmc);
void send_sessionless(lanserv_data_t *lan, msg_t *m, unsigned char type, unsigned char *data, unsigned n);
int open_sessions(lanserv_data_t *lan, int suite17);
void forget_sessions(lanserv_data_t *lan);

#endif
