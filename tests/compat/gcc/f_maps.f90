! Variables of the device, and variables that the program has mapped, with every map type.
! with: parts/check.f90
module host_side
  use check
  implicit none
contains
  subroutine look(what, v, base)
    character(*), intent(in) :: what
    integer, intent(in) :: v(:), base
    integer :: i
    do i = 1, size(v)
      call expect(what, v(i), base + i)
    end do
  end subroutine
end module

program maps
  use omp_lib
  use host_side
  !$omp requires reverse_offload
  implicit none
  integer, parameter :: n = 6
  logical :: initial
  integer :: i, after(4), after_from(n), after_always_from(n)
  integer :: shared(n), always(n), section(10)
  initial = .true.
  after = -1
  do i = 1, n
    shared(i) = 100 + i
    always(i) = 200 + i
  end do
  do i = 1, 10
    section(i) = 300 + i
  end do
  !$omp target map(from: initial, after, after_from, after_always_from) map(to: shared, always) &
  !$omp&       map(tofrom: section)
  block
    integer :: to(n), from(n), tofrom(n), alloc(n), always_from(n), scalar, j
    initial = omp_is_initial_device()
    scalar = 17
    do j = 1, n
      to(j) = 1000 + j
      from(j) = 2000 + j
      tofrom(j) = 3000 + j
      alloc(j) = 4000 + j
      always_from(j) = 5000 + j
      shared(j) = 6000 + j
      always(j) = 7000 + j
    end do
    section(:) = section(:) + 8000
    !$omp target device(ancestor: 1) map(to: to) map(from: from) map(tofrom: tofrom) &
    !$omp&       map(alloc: alloc) map(always, from: always_from) map(tofrom: shared) &
    !$omp&       map(always, tofrom: always) map(tofrom: scalar)
    call look('to', to, 1000)
    call look('tofrom', tofrom, 3000)
    if (on_device()) call look('shared', shared, 100)
    call look('always', always, 7000)
    call expect('scalar', scalar, 17)
    do i = 1, n
      to(i) = 0
      from(i) = 10 + i
      tofrom(i) = 20 + i
      alloc(i) = 0
      always_from(i) = 30 + i
      shared(i) = 40 + i
      always(i) = 50 + i
    end do
    scalar = 18
    !$omp end target
    after = [to(n), alloc(n), tofrom(n), scalar]
    after_from = from
    after_always_from = always_from
    ! A section in the middle of what the host has.
    !$omp target device(ancestor: 1) map(always, tofrom: section(4:7))
    call look('section', section(4:7), 8303)
    if (on_device()) call expect('section(3)', section(3), 303)
    section(5) = -1
    !$omp end target
  end block
  !$omp end target
  call expect_on_device(initial)
  if (on_device()) then
    call expect('to after', after(1), 1000 + n)
    call expect('alloc after', after(2), 4000 + n)
  end if
  call expect('tofrom after', after(3), 20 + n)
  call expect('scalar after', after(4), 18)
  call look('from after', after_from, 10)
  call look('always, from after', after_always_from, 30)
  call look('shared after', shared, 40)
  call look('always after', always, 50)
  do i = 1, 10
    call expect('section after', section(i), merge(-1, 8300 + i, i == 5))
  end do
  call finish
end program
