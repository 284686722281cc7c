! Pointers: to arrays of the host, to parts of them, and to arrays of the device.
! with: parts/check.f90
program pointers
  use omp_lib
  use check
  !$omp requires reverse_offload
  implicit none
  logical :: initial
  integer :: i, wrong
  integer, target :: whole(12)
  integer, pointer :: part(:)
  initial = .true.
  wrong = -1
  whole = [(i, i=1, 12)]
  part => whole(3:9)
  !$omp target map(from: initial, wrong) map(tofrom: part)
  block
    integer, target :: own(5)
    integer, pointer :: p(:)
    integer :: j
    initial = omp_is_initial_device()
    wrong = 0
    do j = 1, 7
      part(j) = part(j) + 100
    end do
    !$omp target device(ancestor: 1) map(always, tofrom: part)
    call expect('size', size(part), 7)
    do i = 1, 7
      call expect('part', part(i), 102 + i)
      part(i) = -part(i)
    end do
    !$omp end target
    do j = 1, 7
      if (part(j) /= -(102 + j)) wrong = wrong + 1
    end do
    own = [10, 20, 30, 40, 50]
    p => own
    !$omp target device(ancestor: 1) map(tofrom: p)
    call expect('size of own', size(p), 5)
    do i = 1, 5
      call expect('own', p(i), 10 * i)
      p(i) = p(i) + 1
    end do
    !$omp end target
    do j = 1, 5
      if (own(j) /= 10 * j + 1) wrong = wrong + 10
    end do
  end block
  !$omp end target
  call expect_on_device(initial)
  call expect('wrong', wrong, 0)
  do i = 1, 12
    call expect('whole', whole(i), merge(-(100 + i), i, i >= 3 .and. i <= 9))
  end do
  call finish
end program
