/* In the place of libomptarget: there is a device, and no region ever runs on it, so that
   programs run them on the host. */
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
