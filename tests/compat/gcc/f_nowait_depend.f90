! gfortran 14 drops depend on combined constructs with nowait, see docs/gcc.md. With
! REVOFF_NOWAIT=sync such regions still run in order. The first one waits on the host for the
! second.
! with: parts/check.f90
! env: REVOFF_NOWAIT=sync
module meeting
  implicit none
  integer, volatile :: arrived = 0
contains
  ! Waits for more than half a second, unless the other region runs.
  subroutine wait_for_other()
    integer(8) :: now, end, rate
    call system_clock(now, rate)
    end = now + rate
    do while (arrived == 0 .and. now < end)
      call system_clock(now)
    end do
  end subroutine
  subroutine arrive()
    arrived = 1
  end subroutine
end module

program nowait_depend
  use omp_lib
  use check
  use meeting
  !$omp requires reverse_offload
  implicit none
  integer :: x, i, at(8)
  logical :: initial
  x = 1
  at = 0
  initial = .true.
  !$omp target data map(tofrom: x, at, initial)
  !$omp target parallel num_threads(1) nowait depend(inout: x) map(tofrom: x, initial)
  initial = omp_is_initial_device()
  !$omp target device(ancestor: 1)
  call wait_for_other()
  !$omp end target
  x = x + 10
  !$omp end target parallel
  !$omp target parallel num_threads(1) nowait depend(inout: x) map(tofrom: x)
  x = x * 2
  !$omp target device(ancestor: 1)
  call arrive()
  !$omp end target
  !$omp end target parallel
  !$omp target teams distribute parallel do nowait depend(inout: x) map(tofrom: x, at)
  do i = 1, 8
    at(i) = x + i
  end do
  !$omp taskwait
  !$omp end target data
  call expect_on_device(initial)
  ! Without a device, the host runs them in any order.
  if (on_device()) then
    call expect('x', x, 22)
    call expect('at', sum(at), 8 * 22 + 36)
  end if
  call finish()
end program
