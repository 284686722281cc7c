/* The device side of a simulated kernel: the interface to the stand-in for ROCr, the kernel
   arguments as GCC's device code for AMD GPUs finds them, and its queue. No GPU instruction
   runs. A simulated kernel performs by hand the operations that GCC's code for the program
   would perform, with the tables, variables, sizes and kinds of the image that GCC made. */
#ifndef DEVICE_H
#define DEVICE_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The stand-in calls this function once for each wavefront of the kernel. It returns 0, or 1
   for a trap. */
struct wave {
    struct arguments *arguments;
    unsigned team, teams, thread, threads;
    const void *image;
    void *(*find)(const void *image, const char *variable);
    unsigned gpu;
    int (*may_use)(unsigned gpu, const void *memory, size_t size);
};

/* A kernel by the name that GCC gives it. */
#define KERNEL(name, symbol) int name(const struct wave *wave) __asm__(symbol)

/* A region is run by the first thread of a team; the others wait for parallel regions. */
static inline int is_first(const struct wave *wave)
{
    return wave->thread == 0;
}

/* Kernels of each image for constructors and destructors of the device's objects; these images
   have none. */
#define NO_CONSTRUCTORS                                                                            \
    KERNEL(init_array, "_init_array");                                                             \
    int init_array(const struct wave *wave) { return wave->teams != 1 || wave->threads != 1; }     \
    KERNEL(fini_array, "_fini_array");                                                             \
    int fini_array(const struct wave *wave) { return wave->teams != 1 || wave->threads != 1; }

enum { SLOTS = 1024, TEXT = 128, INTEGER = 0, DOUBLE = 1, LINE = 2, RAW = 3, CALL = 4 };

struct message {
    int written;
    char label[TEXT];
    int type;
    union {
        int64_t integer;
        double real;
        char text[TEXT];
        uint64_t words[16];
    };
};

struct queue {
    int return_value;
    unsigned next;
    struct message messages[SLOTS];
    unsigned consumed;
};

struct arguments {
    void **vars;
    int64_t unused;
    struct queue *queue;
    char *heap;
    char *arena;
    char *stack;
    int arena_per_team;
    int stack_per_thread;
};

_Static_assert(sizeof(struct message) == 264 && sizeof(struct queue) == 270352, "as GCC's");
_Static_assert(sizeof(struct arguments) == 56, "as GCC's");

/* The stack of a wavefront, in the memory of the device. It grows upwards. */
static inline char *own_stack(const struct wave *wave)
{
    long n = (long)wave->team * wave->threads + wave->thread;
    return wave->arguments->stack + n * wave->arguments->stack_per_thread;
}

/* The variables that libgomp writes to an image. */
struct icvs {
    int device, default_device, teams, thread_limit;
};

static inline const struct icvs *icvs(const struct wave *wave)
{
    return wave->find(wave->image, "__gomp_additional_icvs");
}

/* Address of the n-th variable in the image's table, and of the n-th function. */
static inline void *variable(const struct wave *wave, int n)
{
    void **table = wave->find(wave->image, ".offload_var_table");
    return table[2 * n];
}

static inline uint64_t function(const struct wave *wave, int n)
{
    uint64_t *table = wave->find(wave->image, ".offload_func_table");
    return table[n];
}

/* Draws a ticket and waits until its slot is free. */
static inline struct message *claim(const struct wave *wave)
{
    struct queue *queue = wave->arguments->queue;
    unsigned ticket = __atomic_fetch_add(&queue->next, 1, __ATOMIC_ACQUIRE);
    while (ticket - __atomic_load_n(&queue->consumed, __ATOMIC_ACQUIRE) >= SLOTS)
        sched_yield();
    return &queue->messages[ticket % SLOTS];
}

static inline void publish(struct message *message, int type)
{
    message->type = type;
    __atomic_store_n(&message->written, 1, __ATOMIC_RELEASE);
}

static inline void print_integer(const struct wave *wave, const char *label, int64_t value)
{
    struct message *message = claim(wave);
    strncpy(message->label, label, TEXT);
    message->integer = value;
    publish(message, INTEGER);
}

static inline void print_real(const struct wave *wave, const char *label, double value)
{
    struct message *message = claim(wave);
    strncpy(message->label, label, TEXT);
    message->real = value;
    publish(message, DOUBLE);
}

static inline void print_text(const struct wave *wave, int type, const char *label, const char *text)
{
    struct message *message = claim(wave);
    strncpy(message->label, label, TEXT);
    strncpy(message->text, text, TEXT);
    publish(message, type);
}

/* A call of the host, as the device's `GOMP_target_ext` makes it. In the slot: GCC 13 to 16,
   which wait until the host has set `written` back to 0 and do not change the word of the
   signal. With a signal, which is on the wavefront's stack: the parallel patch. */
enum form { IN_SLOT, SIGNAL };

static inline void call(const struct wave *wave, enum form form, uint64_t function, uint64_t count,
                        void *addresses, const void *sizes, const void *kinds)
{
    /* The last entry of its frame. */
    int *signal = (int *)(own_stack(wave) + wave->arguments->stack_per_thread - 64);
    __atomic_store_n(signal, 0, __ATOMIC_RELAXED);
    struct message *message = claim(wave);
    message->words[0] = function;
    message->words[1] = count;
    message->words[2] = (uintptr_t)addresses;
    message->words[3] = (uintptr_t)sizes;
    message->words[4] = (uintptr_t)kinds;
    message->words[5] = icvs(wave)->device;
    if (form == SIGNAL)
        message->words[6] = (uintptr_t)signal;
    publish(message, CALL);
    if (form == SIGNAL)
        while (!__atomic_load_n(signal, __ATOMIC_ACQUIRE))
            sched_yield();
    else
        while (__atomic_load_n(&message->written, __ATOMIC_ACQUIRE))
            sched_yield();
}

/* Ends the kernel with a status for the process: the device's `exit`, or `abort` with SIGABRT. */
static inline void end_process(const struct wave *wave, int status, int signal)
{
    if (signal)
        status = 128 + signal;
    wave->arguments->queue->return_value = (int)(0xffff0000u | signal << 8 | (status & 0xff));
}

#endif
