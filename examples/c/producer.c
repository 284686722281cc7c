/*
 * A producer of the `native` wire without device-rt, as docs/native-wire.md specifies it: an
 * image for the `host` device. Each device thread of its kernel calls a host function that
 * squares a number.
 */

#include <stdatomic.h>

#include "revoff_abi.h"

/* The symbols that the host looks up in an image, and the variables that it writes. */
const revoff_image_info __revoff_image = {REVOFF_IMAGE_MAGIC, REVOFF_ABI_VERSION, 1u << REVOFF_WIRE_NATIVE};
revoff_device_config __revoff_runtime;
const revoff_host_arch *__revoff_host_arch;
const revoff_function_info __revoff_fn_square = {0};

#define ACQUIRE memory_order_acquire
#define RELAXED memory_order_relaxed
#define RELEASE memory_order_release

/* A row: two cells of 4 bytes of data and the sequence number. */
typedef _Atomic uint64_t row[2];

/* Rows of the request: the header, an entry, and the 8 bytes of its argument. */
enum {
    ENTRY = REVOFF_NATIVE_HEADER_ROWS,
    ARGUMENT = ENTRY + REVOFF_NATIVE_ENTRY_ROWS,
    ROWS,
};

/* Row of the reply with the argument's new bytes. */
enum { RESULT = 1 };

/* Bytes of a slot's area for requests, and of that for replies. */
static uint64_t area_bytes(uint32_t lanes)
{
    uint64_t rows = lanes * REVOFF_NATIVE_MAX_ROWS_TOGETHER;
    return (rows > REVOFF_NATIVE_MAX_ROWS ? rows : REVOFF_NATIVE_MAX_ROWS) * REVOFF_NATIVE_ROW;
}

/* Stores a row of a request. The cells may arrive in any order. */
static void store_row(row *to, uint64_t data, uint32_t seq)
{
    atomic_store_explicit(&(*to)[0], (uint32_t)data | (uint64_t)seq << 32, RELAXED);
    atomic_store_explicit(&(*to)[1], data >> 32 | (uint64_t)seq << 32, RELAXED);
}

/* Waits for a row of a reply, and returns its data. */
static uint64_t wait_for_row(row *from, uint32_t seq)
{
    for (uint32_t attempt = 0;; attempt++) {
        uint64_t low = atomic_load_explicit(&(*from)[0], RELAXED);
        uint64_t high = atomic_load_explicit(&(*from)[1], RELAXED);
        if (low >> 32 == seq && high >> 32 == seq)
            return (uint32_t)low | high << 32;
        __revoff_host_arch->pause(attempt);
    }
}

/* Calls `square(number)`, which changes its argument. Returns a REVOFF_STATUS_... */
static uint32_t square(uint64_t *number)
{
    const revoff_device_config *config = &__revoff_runtime;
    uint64_t area = area_bytes(config->lanes), slot_bytes = 2 * area + REVOFF_NATIVE_PROGRESS_BYTES;
    uint32_t slot = 0, attempt = 0;

    /* Claim (edge C1): the first clear bit in the claims of all slots. */
    char *claims = (char *)config->claims + sizeof(revoff_claims_header);
    revoff_claim_group *group;
    for (;; slot = (slot + 1) % config->slots) {
        uint32_t bit = 1u << slot % REVOFF_CLAIMS_GROUP;
        group = (revoff_claim_group *)claims + slot / REVOFF_CLAIMS_GROUP;
        if (!(atomic_fetch_or_explicit((_Atomic uint32_t *)&group->taken, bit, ACQUIRE) & bit))
            break;
        if (slot + 1 == config->slots)
            __revoff_host_arch->pause(attempt++);
    }
    uint32_t *last_seq = &group->seqs[slot % REVOFF_CLAIMS_GROUP], seq = *last_seq + 1;
    if (seq == 0)
        seq = 1;
    *last_seq = seq;

    /* Request. A thread that calls alone has rank 0 of 1, so its rows are adjacent. */
    row *request = (row *)((char *)config->wire + slot * slot_bytes);
    row *reply = (row *)((char *)request + area);
    uint64_t meta = (ROWS - 1) << REVOFF_NATIVE_META_ROWS | 1 << REVOFF_NATIVE_META_MAPNUM;
    uint64_t launch = __revoff_host_arch->context()->launch;
    store_row(&request[ENTRY], (uint64_t)number, seq);
    store_row(&request[ENTRY + 1], sizeof *number, seq);
    store_row(&request[ENTRY + 2], REVOFF_MAP_TOFROM | REVOFF_NATIVE_PLACE_SLOT << 16, seq);
    store_row(&request[ARGUMENT], *number, seq);
    /* Edge N1: needed for memory outside the slot, and for the requests at the wrap. */
    int is_at_wrap = seq == UINT32_MAX || seq == 1;
    if (is_at_wrap)
        atomic_thread_fence(RELEASE);
    store_row(&request[0], meta | launch << 32, seq);
    store_row(&request[1], (uint64_t)&__revoff_fn_square, seq);

    /* Wake the host if it sleeps (edge W1). */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit((_Atomic uint32_t *)config->wake_word, RELAXED))
        __revoff_host_arch->wake_host();

    /* Wait: the status, and the set of changed arguments. */
    uint64_t done = wait_for_row(&reply[0], seq);
    /* Edge N2, needed where N1 is. */
    if (is_at_wrap)
        atomic_thread_fence(ACQUIRE);
    if (done >> 32 & 1)
        *number = wait_for_row(&reply[RESULT], seq);

    /* Release (edge C1). */
    atomic_fetch_and_explicit((_Atomic uint32_t *)&group->taken, ~(1u << slot % REVOFF_CLAIMS_GROUP), RELEASE);
    return (uint32_t)done;
}

/* Each device thread squares its number; the parameter is the address of the results. */
void squares(const void *const *params)
{
    const revoff_thread_context *thread = __revoff_host_arch->context();
    uint64_t index = thread->team * thread->threads + thread->thread, number = index;
    uint32_t status = square(&number);
    (*(uint64_t *const *)params[0])[index] = status == REVOFF_STATUS_DONE ? number : 0;
}
