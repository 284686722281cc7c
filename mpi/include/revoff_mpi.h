/*
 * MPI for kernels in C: the functions of the crate mpi-calls, which the host program registers by
 * revoff-mpi (docs/mpi.md). Each returns whether the host has done it. An error of MPI is an error
 * of the launch, too.
 *
 *     uint32_t me, ranks;
 *     double sum = part(..);
 *
 *     if (!revoff_mpi_rank(&me) || !revoff_mpi_size(&ranks)
 *         || !revoff_mpi_allreduce(REVOFF_MPI_F64, REVOFF_MPI_SUM, &sum, sizeof sum))
 *         return;
 *
 * Lengths are in bytes. Messages are bytes for MPI; only those that are combined have a datatype.
 */

#ifndef REVOFF_MPI_H
#define REVOFF_MPI_H

#include <stdbool.h>

#include "revoff.h"

/** Any rank, or any tag, as the source of a message. */
#define REVOFF_MPI_ANY UINT32_MAX

/* Datatypes of elements that are combined. */
#define REVOFF_MPI_U8 0
#define REVOFF_MPI_I8 1
#define REVOFF_MPI_U16 2
#define REVOFF_MPI_I16 3
#define REVOFF_MPI_U32 4
#define REVOFF_MPI_I32 5
#define REVOFF_MPI_U64 6
#define REVOFF_MPI_I64 7
#define REVOFF_MPI_F32 8
#define REVOFF_MPI_F64 9

/* How they are combined; the last three only for integers. */
#define REVOFF_MPI_SUM 0
#define REVOFF_MPI_PRODUCT 1
#define REVOFF_MPI_MIN 2
#define REVOFF_MPI_MAX 3
#define REVOFF_MPI_AND 4
#define REVOFF_MPI_OR 5
#define REVOFF_MPI_XOR 6

/** A message that was received. */
typedef struct revoff_mpi_received {
    /** The rank that sent it. */
    uint32_t from;
    /** Its tag. */
    uint32_t tag;
    /** Its length. */
    uint64_t bytes;
} revoff_mpi_received;

REVOFF_HOST_FUNCTION(mpi_rank)
REVOFF_HOST_FUNCTION(mpi_size)
REVOFF_HOST_FUNCTION(mpi_send)
REVOFF_HOST_FUNCTION(mpi_recv)
REVOFF_HOST_FUNCTION(mpi_sendrecv)
REVOFF_HOST_FUNCTION(mpi_exchange)
REVOFF_HOST_FUNCTION(mpi_isend)
REVOFF_HOST_FUNCTION(mpi_irecv)
REVOFF_HOST_FUNCTION(mpi_wait)
REVOFF_HOST_FUNCTION(mpi_barrier)
REVOFF_HOST_FUNCTION(mpi_broadcast)
REVOFF_HOST_FUNCTION(mpi_reduce)
REVOFF_HOST_FUNCTION(mpi_allreduce)

/* The mark of a reply: "returned", with the first byte lowest, as on all devices. */
#define REVOFF_MPI_DONE 0x64656e7275746572

/* The arguments of a call, as the host expects them: in the order of the declaration, and the reply
   last. A reply ends with a mark that tells whether the function has returned. */
typedef struct revoff_mpi_call {
    size_t count;
    void *addrs[9];
    size_t sizes[9];
    unsigned short kinds[9];
} revoff_mpi_call;

REVOFF_DEVICE static inline void revoff_mpi_add(revoff_mpi_call *call, void *addr, size_t size,
                                                unsigned kind, unsigned log2_align)
{
    call->addrs[call->count] = addr;
    call->sizes[call->count] = size;
    call->kinds[call->count] = (unsigned short)(kind | log2_align << 8);
    call->count++;
}

REVOFF_DEVICE static inline void revoff_mpi_u32(revoff_mpi_call *call, uint32_t value)
{
    revoff_mpi_add(call, (void *)(uintptr_t)value, sizeof value, REVOFF_MAP_FIRSTPRIVATE_INT, 2);
}

REVOFF_DEVICE static inline void revoff_mpi_u64(revoff_mpi_call *call, uint64_t value)
{
    revoff_mpi_add(call, (void *)(uintptr_t)value, sizeof value, REVOFF_MAP_FIRSTPRIVATE_INT, 3);
}

REVOFF_DEVICE static inline void revoff_mpi_to(revoff_mpi_call *call, const void *data, size_t bytes)
{
    revoff_mpi_add(call, bytes ? (void *)(uintptr_t)data : NULL, bytes, REVOFF_MAP_TO, 0);
}

REVOFF_DEVICE static inline void revoff_mpi_tofrom(revoff_mpi_call *call, void *data, size_t bytes)
{
    revoff_mpi_add(call, bytes ? data : NULL, bytes, REVOFF_MAP_TOFROM, 0);
}

/* Makes the call. `reply` has `words` words of 8 bytes, the last of which is for the mark. */
REVOFF_DEVICE static inline bool revoff_mpi_invoke(revoff_mpi_call *call, void (*fn)(void *),
                                                 uint64_t *reply, size_t words)
{
    reply[words - 1] = 0;
    revoff_mpi_add(call, reply, words * sizeof *reply, REVOFF_MAP_FROM, 3);
    revoff_call(fn, call->count, call->addrs, call->sizes, call->kinds);
    return reply[words - 1] == REVOFF_MPI_DONE;
}

/* As revoff_mpi_invoke, for a function without a result. */
REVOFF_DEVICE static inline bool revoff_mpi_invoke_void(revoff_mpi_call *call, void (*fn)(void *))
{
    uint64_t reply[1];

    return revoff_mpi_invoke(call, fn, reply, 1);
}

/* As revoff_mpi_invoke, for a number; the reply has padding behind it. */
REVOFF_DEVICE static inline bool revoff_mpi_invoke_number(revoff_mpi_call *call, void (*fn)(void *),
                                                        uint32_t *number)
{
    uint64_t reply[2];
    bool done = revoff_mpi_invoke(call, fn, reply, 2);

    if (done)
        *number = (uint32_t)reply[0];
    return done;
}

/* As revoff_mpi_invoke, for a message; `received` may be null. */
REVOFF_DEVICE static inline bool revoff_mpi_invoke_received(revoff_mpi_call *call, void (*fn)(void *),
                                                          revoff_mpi_received *received)
{
    uint64_t reply[3];
    bool done = revoff_mpi_invoke(call, fn, reply, 3);

    if (done && received) {
        received->from = (uint32_t)reply[0];
        received->tag = (uint32_t)(reply[0] >> 32);
        received->bytes = reply[1];
    }
    return done;
}

/** This process's rank. */
REVOFF_DEVICE static inline bool revoff_mpi_rank(uint32_t *rank)
{
    revoff_mpi_call call;
    call.count = 0;
    return revoff_mpi_invoke_number(&call, REVOFF_CALL(mpi_rank), rank);
}

/** The number of ranks. */
REVOFF_DEVICE static inline bool revoff_mpi_size(uint32_t *size)
{
    revoff_mpi_call call;
    call.count = 0;
    return revoff_mpi_invoke_number(&call, REVOFF_CALL(mpi_size), size);
}

/** Sends a message to a rank; returns when it has left, or when MPI has copied it. */
REVOFF_DEVICE static inline bool revoff_mpi_send(uint32_t to, uint32_t tag, const void *data,
                                                 size_t bytes)
{
    revoff_mpi_call call;
    call.count = 0;
    revoff_mpi_u32(&call, to);
    revoff_mpi_u32(&call, tag);
    revoff_mpi_to(&call, data, bytes);
    return revoff_mpi_invoke_void(&call, REVOFF_CALL(mpi_send));
}

/**
 * Waits for a message of at most `bytes` from a rank, or from REVOFF_MPI_ANY. `received`, if it is
 * not null, receives its source and its length.
 */
REVOFF_DEVICE static inline bool revoff_mpi_recv(uint32_t from, uint32_t tag, void *data,
                                                 size_t bytes, revoff_mpi_received *received)
{
    revoff_mpi_call call;
    call.count = 0;
    revoff_mpi_u32(&call, from);
    revoff_mpi_u32(&call, tag);
    revoff_mpi_tofrom(&call, data, bytes);
    return revoff_mpi_invoke_received(&call, REVOFF_CALL(mpi_recv), received);
}

/** Sends a message and receives one, in one call of the host, both with this tag. */
REVOFF_DEVICE static inline bool revoff_mpi_sendrecv(uint32_t to, const void *data, size_t bytes,
                                                     uint32_t from, void *into, size_t room,
                                                     uint32_t tag, revoff_mpi_received *received)
{
    revoff_mpi_call call;
    call.count = 0;
    revoff_mpi_u32(&call, to);
    revoff_mpi_u32(&call, tag);
    revoff_mpi_to(&call, data, bytes);
    revoff_mpi_u32(&call, from);
    revoff_mpi_u32(&call, tag);
    revoff_mpi_tofrom(&call, into, room);
    return revoff_mpi_invoke_received(&call, REVOFF_CALL(mpi_sendrecv), received);
}

/** A neighbour of a rank, for revoff_mpi_exchange. */
typedef struct revoff_mpi_neighbor {
    /** Its rank. */
    uint32_t rank;
    /** The tag of messages in its direction: of that to it, and of that from the other neighbour. */
    uint32_t tag;
    /** The message to it, and its length. */
    const void *send;
    size_t bytes;
    /** The buffer for the message from it, and its length. */
    void *receive;
    size_t room;
} revoff_mpi_neighbor;

/** Sends to both neighbours and receives from both, in one call of the host. */
REVOFF_DEVICE static inline bool revoff_mpi_exchange(const revoff_mpi_neighbor *a,
                                                     const revoff_mpi_neighbor *b)
{
    const revoff_mpi_neighbor *both[2] = {a, b};
    revoff_mpi_call call;
    call.count = 0;
    for (int i = 0; i < 2; i++) {
        revoff_mpi_u32(&call, both[i]->rank);
        revoff_mpi_u32(&call, both[i]->tag);
        revoff_mpi_to(&call, both[i]->send, both[i]->bytes);
        revoff_mpi_tofrom(&call, both[i]->receive, both[i]->room);
    }
    return revoff_mpi_invoke_void(&call, REVOFF_CALL(mpi_exchange));
}

/** Begins to send a message, which is copied; `request` is for revoff_mpi_wait. */
REVOFF_DEVICE static inline bool revoff_mpi_isend(uint32_t to, uint32_t tag, const void *data,
                                                  size_t bytes, uint64_t *request)
{
    revoff_mpi_call call;
    call.count = 0;
    uint64_t reply[2];
    bool done;

    revoff_mpi_u32(&call, to);
    revoff_mpi_u32(&call, tag);
    revoff_mpi_to(&call, data, bytes);
    done = revoff_mpi_invoke(&call, REVOFF_CALL(mpi_isend), reply, 2);
    if (done)
        *request = reply[0];
    return done;
}

/** Begins to receive a message of at most `bytes`, which revoff_mpi_wait delivers. */
REVOFF_DEVICE static inline bool revoff_mpi_irecv(uint32_t from, uint32_t tag, size_t bytes,
                                                  uint64_t *request)
{
    revoff_mpi_call call;
    call.count = 0;
    uint64_t reply[2];
    bool done;

    revoff_mpi_u32(&call, from);
    revoff_mpi_u32(&call, tag);
    revoff_mpi_u64(&call, bytes);
    done = revoff_mpi_invoke(&call, REVOFF_CALL(mpi_irecv), reply, 2);
    if (done)
        *request = reply[0];
    return done;
}

/**
 * Waits for a request. `data` receives the message, if it is one of revoff_mpi_irecv; for one of
 * revoff_mpi_isend, `bytes` is 0.
 */
REVOFF_DEVICE static inline bool revoff_mpi_wait(uint64_t request, void *data, size_t bytes,
                                                 revoff_mpi_received *received)
{
    revoff_mpi_call call;
    call.count = 0;
    revoff_mpi_u64(&call, request);
    revoff_mpi_tofrom(&call, data, bytes);
    return revoff_mpi_invoke_received(&call, REVOFF_CALL(mpi_wait), received);
}

/** Waits until all ranks have called it. */
REVOFF_DEVICE static inline bool revoff_mpi_barrier(void)
{
    revoff_mpi_call call;
    call.count = 0;
    return revoff_mpi_invoke_void(&call, REVOFF_CALL(mpi_barrier));
}

/** Copies the data of the rank `root` to all others. */
REVOFF_DEVICE static inline bool revoff_mpi_broadcast(uint32_t root, void *data, size_t bytes)
{
    revoff_mpi_call call;
    call.count = 0;
    revoff_mpi_u32(&call, root);
    revoff_mpi_tofrom(&call, data, bytes);
    return revoff_mpi_invoke_void(&call, REVOFF_CALL(mpi_broadcast));
}

/** Combines the elements of all ranks; the result replaces those of the rank `root`. */
REVOFF_DEVICE static inline bool revoff_mpi_reduce(uint32_t root, uint32_t datatype,
                                                   uint32_t operation, void *data, size_t bytes)
{
    revoff_mpi_call call;
    call.count = 0;
    revoff_mpi_u32(&call, root);
    revoff_mpi_u32(&call, datatype);
    revoff_mpi_u32(&call, operation);
    revoff_mpi_tofrom(&call, data, bytes);
    return revoff_mpi_invoke_void(&call, REVOFF_CALL(mpi_reduce));
}

/** Combines the elements of all ranks; the result replaces those of each. */
REVOFF_DEVICE static inline bool revoff_mpi_allreduce(uint32_t datatype, uint32_t operation,
                                                      void *data, size_t bytes)
{
    revoff_mpi_call call;
    call.count = 0;
    revoff_mpi_u32(&call, datatype);
    revoff_mpi_u32(&call, operation);
    revoff_mpi_tofrom(&call, data, bytes);
    return revoff_mpi_invoke_void(&call, REVOFF_CALL(mpi_allreduce));
}

#endif
