! Allocatable arrays: of the host, mapped to the device, and allocated on the device.
! since: 14
! with: parts/check.f90
module host_side
  use check
  implicit none
contains
  subroutine look(v, lower, upper, base)
    integer, allocatable, intent(inout) :: v(:)
    integer, intent(in) :: lower, upper, base
    integer :: i
    call expect('allocated', merge(1, 0, allocated(v)), 1)
    call expect('lbound', lbound(v, 1), lower)
    call expect('ubound', ubound(v, 1), upper)
    do i = lower, upper
      call expect('v', v(i), base + i)
      v(i) = 3 * v(i)
    end do
  end subroutine

  subroutine look_at_table(t)
    real, allocatable, intent(inout) :: t(:, :)
    call expect('size 1', size(t, 1), 3)
    call expect('size 2', size(t, 2), 4)
    call expect('t(2, 3)', int(t(2, 3)), 23)
    t(3, 4) = -34
  end subroutine
end module

program allocatables
  use omp_lib
  use host_side
  !$omp requires reverse_offload
  implicit none
  logical :: initial
  integer :: i, j, wrong, seen
  integer, allocatable :: mine(:), shared(:), nothing(:)
  real, allocatable :: table(:, :)
  initial = .true.
  wrong = -1
  seen = -1
  allocate (shared(-2:5))
  do i = -2, 5
    shared(i) = 100 + i
  end do
  allocate (table(3, 4))
  table = 0
  !$omp target map(from: initial, wrong, seen) map(tofrom: shared) map(to: table, nothing)
  block
    integer, allocatable :: own(:)
    initial = omp_is_initial_device()
    wrong = 0
    if (allocated(nothing)) wrong = wrong + 1000
    shared = shared + 900
    !$omp target device(ancestor: 1) map(always, tofrom: shared)
    call look(shared, -2, 5, 1000)
    !$omp end target
    do i = -2, 5
      if (shared(i) /= 3 * (1000 + i)) wrong = wrong + 1
    end do
    do j = 1, 4
      do i = 1, 3
        table(i, j) = 10 * i + j
      end do
    end do
    !$omp target device(ancestor: 1) map(always, tofrom: table)
    call look_at_table(table)
    !$omp end target
    seen = int(table(3, 4))
    ! One that only the device has.
    allocate (own(7))
    do i = 1, 7
      own(i) = 50 + i
    end do
    !$omp target device(ancestor: 1) map(tofrom: own)
    call look(own, 1, 7, 50)
    !$omp end target
    do i = 1, 7
      if (own(i) /= 3 * (50 + i)) wrong = wrong + 1
    end do
    deallocate (own)
  end block
  !$omp end target
  call expect_on_device(initial)
  call expect('wrong', wrong, 0)
  call expect('seen', seen, -34)
  do i = -2, 5
    call expect('shared after', shared(i), 3 * (1000 + i))
  end do
  ! An element of an array that the host has allocated and mapped.
  allocate (mine(4))
  mine = [1, 2, 3, 4]
  !$omp target enter data map(to: mine)
  !$omp target
  mine(2) = 20
  !$omp target device(ancestor: 1) map(always, from: mine(4:4))
  mine(4) = 40
  !$omp end target
  !$omp end target
  !$omp target exit data map(from: mine)
  call expect('mine(1)', mine(1), 1)
  call expect('mine(2)', mine(2), 20)
  call expect('mine(4)', mine(4), 40)
  call finish
end program
