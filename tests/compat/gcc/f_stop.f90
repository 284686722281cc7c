! A host region whose procedure stops the program with an exit status.
! with: parts/check.f90
! ends: exit 3
program stopping
  use omp_lib
  use check
  !$omp requires reverse_offload
  implicit none
  logical :: initial
  initial = .true.
  !$omp target map(from: initial)
  initial = omp_is_initial_device()
  !$omp end target
  if (on_device() .and. initial) then
    call expect_on_device(initial)
    call finish
  end if
  !$omp target
  !$omp target device(ancestor: 1)
  call finally
  !$omp end target
  !$omp end target
  print '(a)', 'the program goes on after stop'
contains
  subroutine finally()
    stop 3
  end subroutine
end program
