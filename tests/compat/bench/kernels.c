/* The kernel of rust.rs. */
void nothing(void *unused, void *data)
{
    (void)unused;
    (void)data;
}
