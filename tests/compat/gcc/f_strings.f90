! Character strings, with fixed and with passed length, and arrays of them.
! with: parts/check.f90
module host_side
  use check
  implicit none
contains
  subroutine greet(who, reply)
    character(*), intent(in) :: who
    character(*), intent(out) :: reply
    reply = 'hello, '//who
  end subroutine

  subroutine turn(names)
    character(*), intent(inout) :: names(:)
    character(len(names)) :: first
    first = names(1)
    names(1) = names(size(names))
    names(size(names)) = first
  end subroutine
end module

program strings
  use omp_lib
  use host_side
  !$omp requires reverse_offload
  implicit none
  logical :: initial
  character(12) :: after, shared
  character(4) :: names_after(3)
  initial = .true.
  shared = 'of the host'
  !$omp target map(from: initial, after, names_after) map(tofrom: shared)
  block
    character(5) :: who
    character(12) :: reply
    character(4) :: names(3)
    initial = omp_is_initial_device()
    who = 'world'
    reply = ''
    !$omp target device(ancestor: 1) map(to: who) map(from: reply)
    call expect_text('who', who, 'world')
    call greet(who, reply)
    !$omp end target
    after = reply
    names(1) = 'one'
    names(2) = 'two'
    names(3) = 'last'
    !$omp target device(ancestor: 1) map(tofrom: names)
    call turn(names)
    !$omp end target
    names_after = names
    shared(1:2) = 'on'
    !$omp target device(ancestor: 1) map(always, tofrom: shared)
    call expect_text('shared', shared, 'on the host ')
    shared(8:12) = 'stage'
    !$omp end target
  end block
  !$omp end target
  call expect_on_device(initial)
  call expect_text('reply', after, 'hello, world')
  call expect_text('names(1)', names_after(1), 'last')
  call expect_text('names(2)', names_after(2), 'two ')
  call expect_text('names(3)', names_after(3), 'one ')
  call expect_text('shared after', shared, 'on the stage')
  call finish
end program
