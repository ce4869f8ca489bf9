/* Cipher suite 17, IPMI 2.0 sections 13.28 to 13.32. The stock simulator keeps the sessions and encrypts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include "labbmc.h"

enum { AUTH_SHA256 = 3, INTEGRITY_SHA256_128 = 4, MAC = 32, INTEGRITY = 16, PASSWORD = 20, NAME = 16 };
enum { OPEN_REQUEST = 0x10, OPEN_RESPONSE, RAKP1, RAKP2, RAKP3, RAKP4 };
enum { NO_RESOURCES = 0x01, ROLE_TOO_HIGH = 0x0a, NO_SUCH_USER = 0x0d, WRONG_INTEGRITY = 0x0f, NO_SUITE = 0x11,
       WRONG_LENGTH = 0x12 };

/* Not declared in the public headers. */
extern auth_handlers_t *auths[64];
extern integ_handlers_t *integs[64];
extern struct {
    int auth, integ, conf;
} valid_cipher_suites[];
extern ipmi_payload_handler_cb payload_handlers[64];

typedef struct {
    unsigned char session[MAC], integrity[MAC], encryption[MAC];
} keys_t;

static ipmi_payload_handler_cb stock_open, stock_rakp1, stock_rakp3;

static void hmac(const void *key, int key_len, const unsigned char *data, unsigned n, unsigned char out[MAC])
{
    unsigned len;

    HMAC(EVP_sha256(), key, key_len, data, n, out, &len);
}

static keys_t *keys_of(session_t *s)
{
    if (!s->auth_data.adata) s->auth_data.adata = calloc(1, sizeof(keys_t));
    return s->auth_data.adata;
}

static int auth_init(lanserv_data_t *lan, session_t *s)
{
    s->auth_data.adata = calloc(1, sizeof(keys_t));
    s->auth_data.akey_len = MAC;
    s->auth_data.integ_len = INTEGRITY;
    return 0;
}

static int not_used_set(lanserv_data_t *lan, session_t *s, unsigned char *d, unsigned *n, unsigned max) { return E2BIG; }
static int not_used_check(lanserv_data_t *lan, session_t *s, unsigned char *d, unsigned *n) { return E2BIG; }

static auth_handlers_t authentication = {
    .init = auth_init, .set2 = not_used_set, .check3 = not_used_check, .set4 = not_used_set
};

static int integrity_init(lanserv_data_t *lan, session_t *s) { return 0; }

static void integrity_cleanup(lanserv_data_t *lan, session_t *s)
{
    free(s->auth_data.adata);
    s->auth_data.adata = NULL;
}

static int integrity_add(lanserv_data_t *lan, session_t *s, unsigned char *message, unsigned *len, unsigned max)
{
    unsigned char mac[MAC];

    if (*len + INTEGRITY > max) return E2BIG;
    hmac(keys_of(s)->integrity, MAC, message + 4, *len - 4, mac);
    memcpy(message + *len, mac, INTEGRITY);
    *len += INTEGRITY;
    return 0;
}

static int integrity_check(lanserv_data_t *lan, session_t *s, msg_t *m)
{
    unsigned char mac[MAC];

    if (m->len < INTEGRITY + 5) return E2BIG;
    hmac(keys_of(s)->integrity, MAC, m->data, m->len - INTEGRITY, mac);
    return memcmp(mac, m->data + m->len - INTEGRITY, INTEGRITY) ? EINVAL : 0;
}

static integ_handlers_t integrity = {
    .init = integrity_init, .cleanup = integrity_cleanup, .add = integrity_add, .check = integrity_check
};

static session_t *find_session(lanserv_data_t *lan, unsigned id)
{
    int i;

    for (i = 0; i <= MAX_SESSIONS; i++)
        if (lan->sessions[i].active && lan->sessions[i].sid == id) return &lan->sessions[i];
    return NULL;
}

/* What goes with a session, such as its console, ends with it. */
static void give_up(lanserv_data_t *lan, session_t *s)
{
    int i;

    for (i = 0; i < LANSERV_NUM_CLOSERS; i++) {
        if (s->closers[i].mc) s->closers[i].close_cb(s->closers[i].mc, s->sid, s->closers[i].close_cb_data);
        s->closers[i].mc = NULL;
    }
    s->active = 0;
    lan->channel.active_sessions--;
}

static void refuse(lanserv_data_t *lan, msg_t *m, session_t *s, unsigned char type, unsigned char code)
{
    unsigned char d[8] = { m->data[0], code };

    put32(d + 4, s->rem_sid);
    send_sessionless(lan, m, type, d, sizeof d);
    give_up(lan, s);
}

/* Which user asks, or the code of the refusal. Stricter than the stock simulator: no role above the user's own. */
static user_t *find_user(lanserv_data_t *lan, msg_t *m, unsigned char *code)
{
    unsigned char name[NAME] = { 0 };
    unsigned privilege = m->data[24] & 0x0f, name_only = m->data[24] & 0x10, n = m->data[27];
    int i;

    *code = WRONG_LENGTH;
    if (privilege > 4 || n > NAME || 28 + n > m->len) return NULL;
    memcpy(name, m->data + 28, n);
    *code = NO_SUCH_USER;
    for (i = 1; i <= MAX_USERS; i++) {
        user_t *u = &lan->users[i];
        if (!u->valid || memcmp(name, u->username, NAME)) continue;
        if (!name_only && u->privilege != privilege) continue;
        *code = ROLE_TOO_HIGH;
        return privilege > u->privilege ? NULL : u;
    }
    return NULL;
}

static unsigned put_role_and_name(unsigned char *p, const auth_data_t *a)
{
    p[0] = a->role;
    p[1] = a->username_len;
    memcpy(p + 2, a->username, a->username_len);
    return 2 + a->username_len;
}

static void derive_keys(lanserv_data_t *lan, auth_data_t *a, const user_t *u, keys_t *k)
{
    unsigned char b[64];

    memcpy(b, a->rem_rand, 16);
    memcpy(b + 16, a->rand, 16);
    hmac(lan->bmc_key ? lan->bmc_key : u->pw, PASSWORD, b, 32 + put_role_and_name(b + 32, a), k->session);
    memset(b, 1, 20); /* the constants have 20 bytes with every algorithm */
    hmac(k->session, MAC, b, 20, k->integrity);
    memset(b, 2, 20);
    hmac(k->session, MAC, b, 20, k->encryption);
    memcpy(a->k2, k->encryption, 16); /* where the stock AES looks */
}

static void open_session(lanserv_data_t *lan, msg_t *m)
{
    unsigned char d[8] = { 0 };

    if (!bmc_of_lan(lan)->fault.refuse_suite17 || m->len < 32 || m->data[12] != AUTH_SHA256) {
        stock_open(lan, m);
        return;
    }
    d[0] = m->data[0];
    d[1] = NO_SUITE;
    memcpy(d + 4, m->data + 4, 4);
    send_sessionless(lan, m, OPEN_RESPONSE, d, sizeof d);
}

static void rakp1(lanserv_data_t *lan, msg_t *m)
{
    session_t *s;
    auth_data_t *a;
    user_t *u;
    unsigned char reply[40 + MAC], b[128], code;

    if (m->len < 28 || !(s = find_session(lan, get32(m->data + 4))) || s->auth != AUTH_SHA256) {
        stock_rakp1(lan, m);
        return;
    }
    if (!(u = find_user(lan, m, &code))) {
        refuse(lan, m, s, RAKP2, code);
        return;
    }
    a = &s->auth_data;
    memcpy(a->rem_rand, m->data + 8, 16);
    a->role = m->data[24];
    a->username_len = m->data[27];
    memset(a->username, 0, NAME);
    memcpy(a->username, m->data + 28, a->username_len);
    s->max_priv = a->role & 0x0f;
    s->priv = IPMI_PRIVILEGE_USER;
    s->userid = u->idx;
    derive_keys(lan, a, u, keys_of(s));
    if (s->confh && s->confh->init(lan, s)) {
        refuse(lan, m, s, RAKP2, NO_RESOURCES);
        return;
    }
    put32(b, s->rem_sid);
    put32(b + 4, s->sid);
    memcpy(b + 8, a->rem_rand, 16);
    memcpy(b + 24, a->rand, 16);
    memcpy(b + 40, lan->guid, 16);
    memset(reply, 0, 8);
    reply[0] = m->data[0];
    put32(reply + 4, s->rem_sid);
    memcpy(reply + 8, a->rand, 16);
    memcpy(reply + 24, lan->guid, 16);
    hmac(u->pw, PASSWORD, b, 56 + put_role_and_name(b + 56, a), reply + 40);
    send_sessionless(lan, m, RAKP2, reply, sizeof reply);
}

static void rakp3(lanserv_data_t *lan, msg_t *m)
{
    session_t *s;
    auth_data_t *a;
    unsigned char reply[8 + MAC] = { 0 }, b[64], mac[MAC];

    if (m->len < 8 || !(s = find_session(lan, get32(m->data + 4))) || s->auth != AUTH_SHA256) {
        stock_rakp3(lan, m);
        return;
    }
    if (m->data[1]) {
        give_up(lan, s);
        return;
    }
    a = &s->auth_data;
    memcpy(b, a->rand, 16);
    put32(b + 16, s->rem_sid);
    hmac(lan->users[s->userid].pw, PASSWORD, b, 20 + put_role_and_name(b + 20, a), mac);
    if (m->len < 8 + MAC || memcmp(mac, m->data + 8, MAC)) {
        refuse(lan, m, s, RAKP4, WRONG_INTEGRITY);
        return;
    }
    memcpy(b, a->rem_rand, 16);
    put32(b + 16, s->sid);
    memcpy(b + 20, lan->guid, 16);
    reply[0] = m->data[0];
    put32(reply + 4, s->rem_sid);
    hmac(keys_of(s)->session, MAC, b, 36, reply + 8);
    send_sessionless(lan, m, RAKP4, reply, 8 + INTEGRITY);
    s->in_startup = 0;
}

int open_sessions(lanserv_data_t *lan, int suite17)
{
    int i, n = 0;

    for (i = 0; i <= MAX_SESSIONS; i++)
        n += lan->sessions[i].active && (!suite17 || lan->sessions[i].auth == AUTH_SHA256);
    return n;
}

void forget_sessions(lanserv_data_t *lan)
{
    int i;

    for (i = 0; i <= MAX_SESSIONS; i++)
        if (lan->sessions[i].active) give_up(lan, &lan->sessions[i]);
}

void suite17_start(void)
{
    int i;

    auths[AUTH_SHA256] = &authentication;
    integs[INTEGRITY_SHA256_128] = &integrity;
    for (i = 0; valid_cipher_suites[i].auth != -1; i++) {
        /* Suite 4 needs xRC4, which the simulator has not: its place in the table is free. */
        if (valid_cipher_suites[i].auth == 1 && valid_cipher_suites[i].conf == 2) {
            valid_cipher_suites[i].auth = AUTH_SHA256;
            valid_cipher_suites[i].integ = INTEGRITY_SHA256_128;
            valid_cipher_suites[i].conf = 1;
        }
        if (options.refuse_suite0 && valid_cipher_suites[i].auth == 0) valid_cipher_suites[i].integ = 63;
    }
    stock_open = payload_handlers[OPEN_REQUEST];
    payload_handlers[OPEN_REQUEST] = open_session;
    stock_rakp1 = payload_handlers[RAKP1];
    stock_rakp3 = payload_handlers[RAKP3];
    payload_handlers[RAKP1] = rakp1;
    payload_handlers[RAKP3] = rakp3;
}
