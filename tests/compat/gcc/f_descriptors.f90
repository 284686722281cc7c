! Assumed-shape arguments: the bounds of the arrays are only in descriptors.
! with: parts/check.f90
module both
  use check
  !$omp requires reverse_offload
  implicit none
contains
  subroutine kernel(a, initial)
    use omp_lib
    integer, intent(inout) :: a(:, :)
    logical, intent(out) :: initial
    logical :: on
    on = .true.
    !$omp target map(tofrom: a) map(from: on)
    on = omp_is_initial_device()
    call on_the_device(a)
    !$omp end target
    initial = on
  end subroutine

  subroutine on_the_device(a)
    !$omp declare target
    integer, intent(inout) :: a(:, :)
    integer :: i, j
    do j = 1, size(a, 2)
      do i = 1, size(a, 1)
        a(i, j) = a(i, j) + 1000
      end do
    end do
    !$omp target device(ancestor: 1) map(always, tofrom: a)
    call on_the_host(a)
    !$omp end target
    a(1, 1) = a(1, 1) + 1
  end subroutine

  subroutine on_the_host(a)
    integer, intent(inout) :: a(0:, 0:)
    integer :: i, j
    call expect('ubound 1', ubound(a, 1), 2)
    call expect('ubound 2', ubound(a, 2), 4)
    do j = 0, 4
      do i = 0, 2
        call expect('a', a(i, j), 1000 + 10 * i + j)
        a(i, j) = -a(i, j)
      end do
    end do
  end subroutine
end module

program descriptors
  use both
  implicit none
  logical :: initial
  integer :: i, j, a(3, 5)
  do j = 1, 5
    do i = 1, 3
      a(i, j) = 10 * (i - 1) + j - 1
    end do
  end do
  call kernel(a, initial)
  call expect_on_device(initial)
  do j = 1, 5
    do i = 1, 3
      call expect('a after', a(i, j), merge(1, 0, i == 1 .and. j == 1) - 1000 - 10 * (i - 1) - (j - 1))
    end do
  end do
  call finish
end program
