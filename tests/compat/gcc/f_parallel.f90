! Threads of several teams call a host function that records the arguments of each call, and
! prints.
! with: parts/check.f90
! output: from a host region:  5  7
module host_side
  implicit none
  integer :: seen(0:1, 0:3) = 0
contains
  subroutine note(team, thread, result)
    integer, intent(in) :: team, thread
    integer, intent(out) :: result
    !$omp atomic
    seen(team, thread) = seen(team, thread) + 1
    result = 10 * team + thread
  end subroutine

  subroutine say(a, b)
    integer, intent(in) :: a, b
    print '(a, i3, i3)', 'from a host region:', a, b
  end subroutine
end module

program parallel
  use omp_lib
  use check
  use host_side
  !$omp requires reverse_offload
  implicit none
  logical :: initial
  integer :: wrong, team, thread, result
  initial = .true.
  wrong = 0
  !$omp target map(from: initial)
  initial = omp_is_initial_device()
  !$omp target device(ancestor: 1)
  call say(5, 7)
  !$omp end target
  !$omp end target
  !$omp target teams num_teams(2) thread_limit(4) map(tofrom: wrong) private(team, thread, result)
  !$omp parallel num_threads(4) private(team, thread, result)
  team = omp_get_team_num()
  thread = omp_get_thread_num()
  result = -1
  !$omp target device(ancestor: 1) map(from: result) firstprivate(team, thread)
  call note(team, thread, result)
  !$omp end target
  if (result /= 10 * team + thread) then
    !$omp atomic
    wrong = wrong + 1
  end if
  !$omp end parallel
  !$omp end target teams
  call expect_on_device(initial)
  call expect('wrong', wrong, 0)
  do team = 0, 1
    do thread = 0, 3
      call expect('seen', seen(team, thread), 1)
    end do
  end do
  call finish
end program
