/* An image without device-rt whose kernels record the location of a panic like images for AMD
   GPUs, and then fault. */

#include "revoff.h"

#include <string.h>

REVOFF_EXPORTED uint64_t __revoff_panic = 0;
REVOFF_EXPORTED const revoff_host_arch *__revoff_host_arch = NULL;

static void panic_at(const char *file, uint32_t file_len, uint32_t line, uint32_t column)
{
    revoff_panic_record *record = (revoff_panic_record *)(uintptr_t)__revoff_panic;

    record->line = line;
    record->column = column;
    record->file_len = file_len;
    memcpy(record->file, file, strlen(file));
    __atomic_store_n(&record->state, REVOFF_IMAGE_PANIC_RECORDED, __ATOMIC_RELEASE);
    __revoff_host_arch->trap((const uint8_t *)"", 0);
}

/* Panics, or faults without a panic if the parameter is 0. */
REVOFF_KERNEL(panics, uint64_t)
{
    if (REVOFF_PARAM(uint64_t, 0) != 0)
        panic_at("src/sort.rs", 11, 21, 9);
    __revoff_host_arch->trap((const uint8_t *)"", 0);
}

/* The parameter is the length of the name, which may exceed the text. The text contains control
   characters and invalid UTF-8. */
REVOFF_KERNEL(lies, uint64_t)
{
    panic_at("a\x1b[31m\xff", REVOFF_PARAM(uint32_t, 0), 1, 0);
}
