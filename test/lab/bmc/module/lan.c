/* LAN settings that the stock simulator takes and drops, or does not have: SNMP community and destinations. */
#include <string.h>
#include "labbmc.h"

enum { COMMUNITY = 16, DESTINATION_COUNT = 17, DESTINATION_TYPE = 18, DESTINATION = 19, REVISION = 0x11 };
enum { COMMUNITY_LENGTH = 18, TYPE_LENGTH = 4, DESTINATION_LENGTH = 13 };

static void (*stock_set)(channel_t *chan, msg_t *m, unsigned char *r, unsigned int *len);
static void (*stock_get)(channel_t *chan, msg_t *m, unsigned char *r, unsigned int *len);

/* Where a parameter is kept and how long it is; the number of the destination comes first. */
static unsigned char *place(bmc_t *bmc, unsigned parameter, unsigned number, unsigned *n)
{
    *n = 0;
    if (parameter == COMMUNITY) {
        *n = COMMUNITY_LENGTH;
        return bmc->community;
    }
    if (number < 1 || number > DESTINATIONS) return NULL;
    *n = parameter == DESTINATION_TYPE ? TYPE_LENGTH : DESTINATION_LENGTH;
    return parameter == DESTINATION_TYPE ? bmc->destination_types[number - 1] : bmc->destinations[number - 1];
}

static int is_ours(unsigned parameter) { return parameter >= COMMUNITY && parameter <= DESTINATION; }

static void set_parameter(channel_t *chan, msg_t *m, unsigned char *r, unsigned int *len)
{
    bmc_t *bmc = bmc_of(chan->mc);
    unsigned parameter = m->len > 1 ? m->data[1] : 0, n;
    unsigned char *kept;

    if (bmc->fault.drop_settings && parameter != 0) {
        answer(r, len, 0);
        return;
    }
    if (!is_ours(parameter)) {
        stock_set(chan, m, r, len);
        return;
    }
    kept = m->len > 2 && parameter != DESTINATION_COUNT ? place(bmc, parameter, m->data[2], &n) : NULL;
    if (!kept || m->len < 2 + n) {
        answer(r, len, kept ? 0xc7 : 0xc9);
        return;
    }
    memcpy(kept, m->data + 2, n);
    answer(r, len, 0);
}

static void get_parameter(channel_t *chan, msg_t *m, unsigned char *r, unsigned int *len)
{
    bmc_t *bmc = bmc_of(chan->mc);
    unsigned parameter = m->len > 2 ? m->data[1] : 0, n = 1;
    unsigned char count = DESTINATIONS, *kept = &count;

    if (!is_ours(parameter)) {
        stock_get(chan, m, r, len);
        return;
    }
    if (parameter != DESTINATION_COUNT) kept = place(bmc, parameter, m->data[2], &n);
    if (!kept) {
        answer(r, len, 0xc9);
        return;
    }
    r[0] = 0;
    r[1] = REVISION;
    memcpy(r + 2, kept, n);
    *len = 2 + n;
}

void lan_begin(bmc_t *bmc)
{
    unsigned i;

    strcpy((char *)bmc->community, "public");
    for (i = 0; i < DESTINATIONS; i++) bmc->destinations[i][0] = bmc->destination_types[i][0] = i + 1;
}

void lan_attach(bmc_t *bmc)
{
    stock_set = bmc->lan->channel.set_lan_parms;
    stock_get = bmc->lan->channel.get_lan_parms;
    bmc->lan->channel.set_lan_parms = set_parameter;
    bmc->lan->channel.get_lan_parms = get_parameter;
}
