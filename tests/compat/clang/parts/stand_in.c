/* A replacement for libomptarget: it has a device that never runs a region, so that programs
   run regions on the host. */
int omp_get_num_devices(void)
{
    return 1;
}

int omp_get_initial_device(void)
{
    return 1;
}

int __tgt_target_kernel(void)
{
    return -1;
}

#define NOTHING(name) \
    void name(void)   \
    {                 \
    }

NOTHING(__tgt_register_lib)
NOTHING(__tgt_unregister_lib)
NOTHING(__tgt_target_data_begin_mapper)
NOTHING(__tgt_target_data_end_mapper)
NOTHING(__tgt_target_data_update_mapper)
