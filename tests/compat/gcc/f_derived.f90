! Derived types: whole ones, members of them, and members that are arrays.
! with: parts/check.f90
module host_side
  use check
  implicit none
  type :: inner
    integer :: a, b
  end type
  type :: outer
    integer :: number
    type(inner) :: in
    real :: list(4)
    character(5) :: name
  end type
contains
  subroutine change(o)
    type(outer), intent(inout) :: o
    call expect('number', o%number, 1)
    call expect('in%b', o%in%b, 3)
    call expect('list(4)', int(o%list(4)), 7)
    call expect_text('name', o%name, 'hello')
    o%number = 10
    o%in%a = 20
    o%list(2) = 50
    o%name = 'world'
  end subroutine
end module

program derived
  use omp_lib
  use host_side
  !$omp requires reverse_offload
  implicit none
  logical :: initial
  integer :: after(4)
  character(5) :: name
  type(outer) :: shared
  initial = .true.
  shared = outer(100, inner(200, 300), [400., 500., 600., 700.], 'other')
  !$omp target map(from: initial, after, name) map(to: shared)
  block
    type(outer) :: own
    initial = omp_is_initial_device()
    own%number = 1
    own%in = inner(2, 3)
    own%list = [4., 5., 6., 7.]
    own%name = 'hello'
    !$omp target device(ancestor: 1) map(tofrom: own)
    call change(own)
    !$omp end target
    after = [own%number, own%in%a, int(own%list(2)), 0]
    name = own%name
    ! Members alone.
    !$omp target device(ancestor: 1) map(tofrom: own%number) map(to: own%list) map(from: own%in)
    call expect('number', own%number, 10)
    call expect('list(2)', int(own%list(2)), 50)
    own%number = 11
    own%in%a = 1000
    own%in%b = 2000
    !$omp end target
    after(4) = own%number + own%in%a + own%in%b
    shared%number = 101
    shared%in%b = 301
    !$omp target device(ancestor: 1) map(always, tofrom: shared%number) map(always, to: shared%in)
    call expect('shared%number', shared%number, 101)
    call expect('shared%in%b', shared%in%b, 301)
    shared%number = 102
    !$omp end target
  end block
  !$omp end target
  call expect_on_device(initial)
  call expect('number after', after(1), 10)
  call expect('in%a after', after(2), 20)
  call expect('list(2) after', after(3), 50)
  call expect('members after', after(4), 3011)
  call expect_text('name after', name, 'world')
  call expect('shared%number after', shared%number, 102)
  call expect('shared%list(1) after', int(shared%list(1)), 400)
  call finish
end program
