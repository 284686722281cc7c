/* A program that uses ROCr and knows nothing of this project. It loads the code object that its second argument names,
   adds two vectors, and ends as its first argument says: ok, fault, midway, devices. */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if a function of ROCr fails. */
static void check(hsa_status_t status, const char *call) {
    const char *text = "an unknown status";
    if (status == HSA_STATUS_SUCCESS)
        return;
    hsa_status_string(status, &text);
    fprintf(stderr, "%s: %s\n", call, text);
    exit(1);
}
#define HSA(call) check(call, #call)

static hsa_agent_t gpu, cpu;
static int gpus;

static hsa_status_t take_agent(hsa_agent_t agent, void *data) {
    hsa_device_type_t kind;
    (void)data;
    HSA(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &kind));
    if (kind == HSA_DEVICE_TYPE_CPU)
        cpu = agent;
    else if (gpus++ == 0)
        gpu = agent;
    return HSA_STATUS_SUCCESS;
}

/* A memory pool with a flag. */
struct wanted {
    uint32_t flag;
    hsa_amd_memory_pool_t pool;
};

static hsa_status_t take_pool(hsa_amd_memory_pool_t pool, void *data) {
    struct wanted *wanted = data;
    uint32_t flags = 0;
    HSA(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if (!(flags & wanted->flag))
        return HSA_STATUS_SUCCESS;
    wanted->pool = pool;
    return HSA_STATUS_INFO_BREAK;
}

static void *allocate(hsa_agent_t agent, uint32_t flag, size_t bytes) {
    struct wanted wanted = {flag, {0}};
    void *memory;
    hsa_amd_agent_iterate_memory_pools(agent, take_pool, &wanted);
    HSA(hsa_amd_memory_pool_allocate(wanted.pool, bytes, 0, &memory));
    HSA(hsa_amd_agents_allow_access(1, &gpu, NULL, memory));
    return memory;
}

static hsa_executable_t executable;

/* Launches a kernel; returns the signal that it decrements when it has ended. */
static hsa_signal_t launch(hsa_queue_t *queue, const char *name, uint32_t items, void *arguments) {
    hsa_executable_symbol_t symbol;
    hsa_signal_t done;
    char descriptor[32];
    snprintf(descriptor, sizeof descriptor, "%s.kd", name);
    HSA(hsa_executable_get_symbol_by_name(executable, descriptor, &gpu, &symbol));
    HSA(hsa_signal_create(1, 0, NULL, &done));
    uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    hsa_kernel_dispatch_packet_t *packet =
        (hsa_kernel_dispatch_packet_t *)queue->base_address + index % queue->size;
    memset((char *)packet + 4, 0, sizeof *packet - 4);
    packet->workgroup_size_x = 64;
    packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_x = items;
    packet->grid_size_y = packet->grid_size_z = 1;
    packet->kernarg_address = arguments;
    packet->completion_signal = done;
    HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                       &packet->kernel_object));
    uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    uint32_t setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    __atomic_store_n((uint32_t *)packet, header | setup << 16, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
    return done;
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "ok";
    enum { N = 1000 };
    uint32_t a[N], b[N];
    char name[64];
    hsa_code_object_reader_t reader;
    hsa_queue_t *queue;

    HSA(hsa_init());
    HSA(hsa_iterate_agents(take_agent, NULL));
    if (gpus == 0) {
        puts("no GPU");
        return 0;
    }
    HSA(hsa_agent_get_info(gpu, HSA_AGENT_INFO_NAME, name));
    if (!strcmp(how, "devices")) {
        printf("%d of %s\n", gpus, name);
        return 0;
    }
    int file = open(arguments[2], O_RDONLY);
    HSA(hsa_code_object_reader_create_from_file(file, &reader));
    HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &executable));
    HSA(hsa_executable_load_agent_code_object(executable, gpu, reader, NULL, NULL));
    HSA(hsa_executable_freeze(executable, NULL));
    HSA(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
    for (uint32_t i = 0; i < N; i++)
        a[i] = i, b[i] = 2 * i;
    void *x = allocate(gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, sizeof a);
    void *y = allocate(gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, sizeof b);
    HSA(hsa_memory_copy(x, a, sizeof a));
    HSA(hsa_memory_copy(y, b, sizeof b));
    struct {
        void *to, *from;
        uint32_t count;
    } *parameters = allocate(cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT, sizeof *parameters);
    parameters->to = x;
    parameters->from = y;
    parameters->count = strcmp(how, "fault") ? N : N + 10;
    hsa_signal_t done = launch(queue, "add", 2048, parameters);
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    HSA(hsa_memory_copy(a, x, sizeof a));
    for (uint32_t i = 0; i < N; i++)
        if (a[i] != 3 * i) {
            fprintf(stderr, "a[%u] is %u\n", i, a[i]);
            return 1;
        }
    if (!strcmp(how, "midway")) {
        uint32_t *flag = allocate(cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, sizeof *flag);
        *flag = 0;
        parameters->to = flag;
        launch(queue, "spin", 64, parameters);
        return 7;
    }
    puts("right");
    return 0;
}
