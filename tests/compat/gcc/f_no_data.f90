! A call without arguments, from a module's procedure on the device.
! with: parts/check.f90
module calls
  !$omp requires reverse_offload
  implicit none
  integer :: count = 0
contains
  subroutine called()
    count = count + 1
  end subroutine

  recursive subroutine ask(times)
    !$omp declare target
    integer, value :: times
    !$omp target device(ancestor: 1)
    call called
    !$omp end target
    if (times > 1) call ask(times - 1)
  end subroutine
end module

program no_data
  use omp_lib
  use check
  use calls
  !$omp requires reverse_offload
  implicit none
  logical :: initial
  initial = .true.
  !$omp target map(from: initial)
  initial = omp_is_initial_device()
  call ask(7)
  !$omp end target
  call expect_on_device(initial)
  call expect('count', count, 7)
  call finish
end program
