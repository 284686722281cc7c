/*
 * A producer of the `native` wire without device-rt, as docs/native-wire.md specifies it: an
 * image for the `host` device. Each device thread of its kernel calls a host function that
 * squares a number.
 */

#include <stdatomic.h>
#include <string.h>

#include "revoff_abi.h"

/* The symbols that the host looks up in an image, and the variables that it writes. */
const revoff_image_info __revoff_image = {REVOFF_IMAGE_MAGIC, REVOFF_ABI_VERSION, 1u << REVOFF_WIRE_NATIVE};
revoff_device_config __revoff_runtime;
const revoff_host_arch *__revoff_host_arch;
const revoff_function_info __revoff_fn_square = {0};

#define ACQUIRE memory_order_acquire
#define RELAXED memory_order_relaxed
#define RELEASE memory_order_release

/* Calls `square(number)`, which changes its argument. Returns a REVOFF_STATUS_... */
static uint32_t square(uint64_t *number)
{
    const revoff_device_config *config = &__revoff_runtime;
    uint32_t hints = (config->slots * 4 + 127) / 128 * 128, slot = 0, attempt = 0, status;

    /* Claim: the first clear bit in the claims of all slots. */
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
    uint32_t seq = ++group->seqs[slot % REVOFF_CLAIMS_GROUP];

    /* Request: the header, one entry, and then the 8 bytes of the argument. */
    revoff_native_slot *at = (revoff_native_slot *)((char *)config->wire + hints) + slot;
    at->request.launch = __revoff_host_arch->context()->launch;
    at->request.func = (uint64_t)&__revoff_fn_square;
    at->request.mapnum = 1;
    at->request.dev_num = 0;
    at->request.bounce_blocks = 0;
    revoff_native_map_entry entry = {(uint64_t)number, sizeof *number, REVOFF_MAP_TOFROM,
                                     REVOFF_NATIVE_PLACE_SLOT, sizeof entry};
    memcpy(at->request_payload, &entry, sizeof entry);
    memcpy((char *)at->request_payload + sizeof entry, number, sizeof *number);

    /* Publish (edge N1), and wake the host if it sleeps (edge W1). */
    atomic_store_explicit((_Atomic uint32_t *)&at->request.seq, seq, RELEASE);
    atomic_store_explicit((_Atomic uint32_t *)config->wire + slot, seq, RELAXED);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit((_Atomic uint32_t *)config->wake_word, RELAXED))
        __revoff_host_arch->wake_host();

    /* Wait (edge N2): sequence number and status are one word. */
    uint64_t done;
    for (attempt = 0;; __revoff_host_arch->pause(attempt++)) {
        done = atomic_load_explicit((_Atomic uint64_t *)&at->reply.seq, ACQUIRE);
        if ((uint32_t)done == seq)
            break;
    }
    status = (uint32_t)(done >> 32);
    /* The results' offset in the reply payload is their offset in the request minus the size of
       the entries. */
    if (at->reply.copied & 1)
        memcpy(number, at->reply_payload, sizeof *number);

    /* Release (edge C1). */
    atomic_fetch_and_explicit((_Atomic uint32_t *)&group->taken, ~(1u << slot % REVOFF_CLAIMS_GROUP), RELEASE);
    return status;
}

/* Each device thread squares its number; the parameter is the address of the results. */
void squares(const void *const *params)
{
    const revoff_thread_context *thread = __revoff_host_arch->context();
    uint64_t index = thread->team * thread->threads + thread->thread, number = index;
    uint32_t status = square(&number);
    (*(uint64_t *const *)params[0])[index] = status == REVOFF_STATUS_DONE ? number : 0;
}
